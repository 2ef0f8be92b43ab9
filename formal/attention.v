(** One layer of attention, as docs/conventions.md defines it: row vectors, unscaled scores, the last position is read.

    A vector, or a row of a matrix, is a function of its index; only the indices below the dimension count. *)

From Coq Require Import Reals List Lra Lia Arith.
From Formal Require Import sums.
Open Scope R_scope.

(** The tensors of a network; all entries are real numbers, all dimensions are free. *)
Record network := {
  n_ctx : nat;
  d_model : nat;
  n_heads : nat;
  d_qk : nat;
  d_head : nat;
  d_vocab_out : nat;
  W_E : nat -> nat -> R;           (* token, coordinate *)
  W_pos : nat -> nat -> R;         (* position, coordinate *)
  W_Q : nat -> nat -> nat -> R;    (* head, coordinate, query coordinate *)
  W_K : nat -> nat -> nat -> R;
  W_V : nat -> nat -> nat -> R;    (* head, coordinate, value coordinate *)
  W_O : nat -> nat -> nat -> R;    (* head, value coordinate, coordinate *)
  W_U : nat -> nat -> R            (* coordinate, output token *)
}.

(** A context is the list of its tokens; [token t s] is the one at position [s]. *)
Definition context := list nat.
Definition token (t : context) (s : nat) : nat := nth s t O.

Section Forward.

Variable m : network.

(** The embedding of token [n] at position [s], and what stands at position [s] of a context. *)
Definition embedding (s n i : nat) : R := W_E m n i + W_pos m s i.
Definition input (t : context) (s i : nat) : R := embedding s (token t s) i.

(** The position that is read. *)
Definition last_position : nat := pred (n_ctx m).

Definition query (h : nat) (t : context) (k : nat) : R :=
  Sum (d_model m) (fun i => input t last_position i * W_Q m h i k).
Definition key (h : nat) (t : context) (s k : nat) : R := Sum (d_model m) (fun i => input t s i * W_K m h i k).
Definition score (h : nat) (t : context) (s : nat) : R := Sum (d_qk m) (fun k => query h t k * key h t s k).

(** The softmax of the scores over the positions. *)
Definition partition (h : nat) (t : context) : R := Sum (n_ctx m) (fun s => exp (score h t s)).
Definition attention (h : nat) (t : context) (s : nat) : R := exp (score h t s) / partition h t.

(** What a head sees: the mean of the inputs under its attention; then its values; then what all heads add to the
    stream, which holds the skip connection; then the logits. *)
Definition mixture (h : nat) (t : context) (i : nat) : R :=
  Sum (n_ctx m) (fun s => attention h t s * input t s i).
Definition feature (h : nat) (t : context) (j : nat) : R := Sum (d_model m) (fun i => mixture h t i * W_V m h i j).
Definition skip (t : context) (i : nat) : R := input t last_position i.
Definition stream (t : context) (i : nat) : R :=
  skip t i + Sum (n_heads m) (fun h => Sum (d_head m) (fun j => feature h t j * W_O m h j i)).
Definition logit (t : context) (n : nat) : R := Sum (d_model m) (fun i => stream t i * W_U m i n).

(** A label is predicted, or memorized, if its logit is strictly the largest. *)
Definition predicts (t : context) (label : nat) : Prop :=
  (label < d_vocab_out m)%nat /\ forall n, (n < d_vocab_out m)%nat -> n <> label -> logit t n < logit t label.

(** The same with equal logits decided by an order of the tokens that is fixed in advance. *)
Definition predicts_by (before : nat -> nat -> Prop) (t : context) (label : nat) : Prop :=
  (label < d_vocab_out m)%nat /\
  forall n, (n < d_vocab_out m)%nat -> n <> label ->
    logit t n < logit t label \/ (logit t n = logit t label /\ before label n).

End Forward.

(** The attention weights are positive and add up to 1. *)
Lemma partition_positive : forall m h t, (0 < n_ctx m)%nat -> 0 < partition m h t.
Proof. intros m h t H. apply Sum_positive; [assumption |]. intros s _. apply exp_pos. Qed.

Lemma attention_positive : forall m h t s, (0 < n_ctx m)%nat -> 0 < attention m h t s.
Proof.
  intros m h t s H. unfold attention. apply Rdiv_lt_0_compat; [apply exp_pos | apply partition_positive, H].
Qed.

Lemma attention_total : forall m h t, (0 < n_ctx m)%nat -> Sum (n_ctx m) (attention m h t) = 1.
Proof.
  intros m h t H. unfold attention, Rdiv. rewrite Sum_scale_right. fold (partition m h t).
  apply Rinv_r, Rgt_not_eq, partition_positive, H.
Qed.
