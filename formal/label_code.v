(** One number is enough to name a label: logits n y - n^2 / 2 are largest at the label nearest to y. *)

From Coq Require Import Reals Lra Lia Arith.
From Formal Require Import sums attention.
Open Scope R_scope.

(** The logit of token [n] in a code whose number is [y]. *)
Definition code_logit (y : R) (n : nat) : R := INR n * y - INR n * INR n / 2.

Lemma nat_distance : forall n l, n <> l -> 1 <= Rabs (INR n - INR l).
Proof.
  intros n l H. destruct (Nat.lt_trichotomy n l) as [L | [E | L]]; [| contradiction |].
  - assert (INR n + 1 <= INR l) by (rewrite <- S_INR; apply le_INR; lia). rewrite Rabs_left; lra.
  - assert (INR l + 1 <= INR n) by (rewrite <- S_INR; apply le_INR; lia). rewrite Rabs_right; lra.
Qed.

(** A number within eta <= 1/2 of the label leaves a margin of at least 1/2 - eta to every other token. *)
(* Answers: dana.proposition-3: labels need d = 2. *)
Theorem label_code_margin : forall y label eta n, Rabs (y - INR label) <= eta -> eta <= 1 / 2 -> n <> label ->
  1 / 2 - eta <= code_logit y label - code_logit y n.
Proof.
  intros y label eta n Hy Heta Hn. pose proof (nat_distance n label Hn) as D.
  unfold code_logit. set (k := INR n - INR label) in *.
  replace (INR label * y - INR label * INR label / 2 - (INR n * y - INR n * INR n / 2))
    with (k * k / 2 - k * (y - INR label)) by (unfold k; field).
  set (e := y - INR label) in *.
  assert (P : k * e <= Rabs k * eta).
  { apply Rle_trans with (Rabs (k * e)); [apply Rle_abs |]. rewrite Rabs_mult.
    apply Rmult_le_compat_l; [apply Rabs_pos | assumption]. }
  assert (Q : k * k = Rabs k * Rabs k) by (rewrite <- Rabs_mult; symmetry; apply Rabs_right; nra).
  rewrite Q. nra.
Qed.

(** The margin is exact: it is attained by the next label. *)
(* Answers: dana.proposition-3: labels need d = 2. *)
Theorem label_code_margin_is_sharp : forall label eta,
  code_logit (INR label + eta) label - code_logit (INR label + eta) (S label) = 1 / 2 - eta.
Proof. intros label eta. unfold code_logit. rewrite S_INR. field. Qed.

(** A network whose unembedding is such a code predicts the label, if its stream holds the number and a constant 1. *)
(* Answers: dana.proposition-3: labels need d = 2. *)
Theorem label_code_predicts : forall m t label f1 f2, (label < d_vocab_out m)%nat ->
  (forall i n, (i < d_model m)%nat -> (n < d_vocab_out m)%nat ->
    W_U m i n = INR n * f1 i - INR n * INR n / 2 * f2 i) ->
  Sum (d_model m) (fun i => stream m t i * f2 i) = 1 ->
  Rabs (Sum (d_model m) (fun i => stream m t i * f1 i) - INR label) < 1 / 2 ->
  predicts m t label.
Proof.
  intros m t label f1 f2 Hlabel HU Hone Hy. split; [assumption |]. intros n Hn Hne.
  assert (L : forall k, (k < d_vocab_out m)%nat ->
    logit m t k = code_logit (Sum (d_model m) (fun i => stream m t i * f1 i)) k).
  { intros k Hk. unfold logit, code_logit.
    rewrite (Sum_ext (d_model m) _
      (fun i => INR k * (stream m t i * f1 i) - INR k * INR k / 2 * (stream m t i * f2 i))).
    - rewrite Sum_minus, !Sum_scale, Hone. ring.
    - intros i Hi. rewrite HU by assumption. ring. }
  rewrite !L by assumption.
  set (y := Sum (d_model m) (fun i => stream m t i * f1 i)) in *.
  pose proof (label_code_margin y label (Rabs (y - INR label)) n (Rle_refl _) ltac:(lra) Hne). lra.
Qed.
