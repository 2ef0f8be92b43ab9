(** The share of contexts whose label is predicted, and what two corollaries of the literature print about it. *)

From Coq Require Import Reals List Lra Lia Arith.
From Formal Require Import sums attention.
Open Scope R_scope.

Lemma all_below_dec : forall (P : nat -> Prop), (forall n, {P n} + {~ P n}) ->
  forall N, {forall n, (n < N)%nat -> P n} + {~ forall n, (n < N)%nat -> P n}.
Proof.
  intros P H. induction N as [| N [IH | IH]].
  - left. intros n Hn. lia.
  - destruct (H N) as [HN | HN].
    + left. intros n Hn. destruct (Nat.eq_dec n N) as [-> | Hne]; [assumption | apply IH; lia].
    + right. intro A. apply HN, A. lia.
  - right. intro A. apply IH. intros n Hn. apply A. lia.
Defined.

Definition predicts_dec (m : network) (t : context) (label : nat) : {predicts m t label} + {~ predicts m t label}.
Proof.
  destruct (lt_dec label (d_vocab_out m)) as [Hl | Hl].
  - destruct (all_below_dec (fun n => n <> label -> logit m t n < logit m t label)) with (N := d_vocab_out m)
      as [H | H].
    + intro n. destruct (Nat.eq_dec n label) as [E | E]; [left; contradiction |].
      destruct (Rlt_dec (logit m t n) (logit m t label)) as [Hlt | Hlt]; [left; intros _; exact Hlt |].
      right. intro A. apply Hlt, A, E.
    + left. split; assumption.
    + right. intros [_ A]. exact (H A).
  - right. intros [A _]. exact (Hl A).
Defined.

(** 1 if the label is predicted, else 0; and the mean over [T] equally likely contexts. *)
Definition hit (m : network) (t : context) (label : nat) : R := if predicts_dec m t label then 1 else 0.
Definition accuracy (m : network) (T : nat) (ts : nat -> context) (labels : nat -> nat) : R :=
  Sum T (fun i => hit m (ts i) (labels i)) / INR T.

Lemma hit_right : forall m t label, predicts m t label -> hit m t label = 1.
Proof. intros m t label H. unfold hit. destruct (predicts_dec m t label); [reflexivity | contradiction]. Qed.

Lemma hit_wrong : forall m t label, ~ predicts m t label -> hit m t label = 0.
Proof. intros m t label H. unfold hit. destruct (predicts_dec m t label); [contradiction | reflexivity]. Qed.

Lemma hit_range : forall m t label, 0 <= hit m t label <= 1.
Proof. intros m t label. unfold hit. destruct (predicts_dec m t label); lra. Qed.

(** [T] different contexts of [S] tokens below [N]. *)
Definition contexts_of (N S T : nat) (ts : nat -> context) : Prop :=
  (forall i, (i < T)%nat -> length (ts i) = S /\ forall s, (s < S)%nat -> (token (ts i) s < N)%nat) /\
  (forall i j, (i < T)%nat -> (j < T)%nat -> ts i = ts j -> i = j).

Definition labels_of (N T : nat) (labels : nat -> nat) : Prop := forall i, (i < T)%nat -> (labels i < N)%nat.

(** A network of given sizes; the width of queries and keys and all entries are free. *)
Definition sizes (m : network) (N S d d_h H : nat) : Prop :=
  d_vocab_out m = N /\ n_ctx m = S /\ d_model m = d /\ d_head m = d_h /\ n_heads m = H.

(** Dana, Pydi and Chevaleyre (2024), Corollary 1: width 2 and H heads memorize T = H d_h + 2 associations. *)
Definition printed_corollary_1 : Prop :=
  forall N S d_h H ts labels, (1 <= d_h <= 2)%nat ->
    contexts_of N S (H * d_h + 2) ts -> labels_of N (H * d_h + 2) labels ->
    exists m, sizes m N S 2 d_h H /\ forall i, (i < H * d_h + 2)%nat -> predicts m (ts i) (labels i).

(** Corollary 2: an accuracy of 1/N + (1 - 1/N) (H d_h + d) / T, while heads count fewer contexts than there are. *)
Definition printed_accuracy (N d d_h H T : nat) : R :=
  1 / INR N + (1 - 1 / INR N) * (INR (H * d_h + d) / INR T).

Definition printed_corollary_2 : Prop :=
  forall N S d d_h H T ts labels, (1 <= d_h <= d)%nat -> (H * d_h + d <= T)%nat ->
    contexts_of N S T ts -> labels_of N T labels ->
    exists m, sizes m N S d d_h H /\ printed_accuracy N d d_h H T <= accuracy m T ts labels.
