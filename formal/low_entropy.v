(** The bound of Theorem 2 of Dana, Pydi and Chevaleyre (2024) on distributions that are nearly a look-up table: without
    a condition that C is below 1/2, which is not printed, it can be negative, and no divergence is. *)

From Coq Require Import Reals Lra Lia Arith R_sqrt.
From Formal Require Import sums divergence bounds divergence_floor theorem_1.
Open Scope R_scope.

(** C, and the bound for a distribution of which g has the probability [p], of entropy [h] and total variation [t] from
    the uniform distribution of the other tokens. *)
Definition printed_C (N d : nat) : R := sqrt (32 * ln (INR N + 1) / INR d).
Definition printed_bound (N d : nat) (p h t : R) : R :=
  (1 - p) * ln ((INR N - 1) / (exp h - 1)) * ((1 + 2 * printed_C N d + printed_C N d * t) / (1 - 2 * printed_C N d)).

(** Contexts with distributions that are not uniform; [others t] is the total variation, which is at most 1. Encoders of
    [d] dimensions come within gamma of the mean of the bounds. *)
Definition printed_theorem_2 : Prop :=
  forall N d T prior p g others, (1 <= d)%nat -> distribution T prior ->
    (forall t, (t < T)%nat -> distribution N (p t) /\ (g t < N)%nat /\ 0 < entropy N (p t) < ln (INR N) /\ 0 <= others t <= 1) ->
    forall gamma, 0 < gamma -> exists E W, encoder_divergence N d T prior p E W <=
      Sum T (fun t => prior t * printed_bound N d (p t (g t)) (entropy N (p t)) (others t)) + gamma.

Lemma three_quarters_entropy : 0 < entropy 2 (coin (3 / 4)) /\ exp (entropy 2 (coin (3 / 4))) <= 2 - 1 / 10.
Proof.
  assert (L1 : ln (3 / 4) <= -1 / 4) by (pose proof (ln_le_minus_one (3 / 4) ltac:(lra)); lra).
  assert (L2 : - (1 / 3) <= ln (3 / 4)) by (pose proof (ln_ge_one_minus_inverse (3 / 4) ltac:(lra)); lra).
  assert (L3 : ln (1 / 4) = - (2 * ln 2)).
  { rewrite ln_quotient, ln_1 by lra. replace 4 with (2 * 2) by ring. rewrite ln_mult by lra. ring. }
  pose proof ln_two_lower as B. rewrite coin_entropy. unfold binary_entropy. replace (1 - 3 / 4) with (1 / 4) by field. rewrite L3.
  split; [lra |].
  (* The entropy is log 2 less at least 0.0965 - and e^0.0965 is more than 2 / 1.9. *)
  apply Rle_trans with (exp (ln 2 - 96 / 1000)).
  - set (h := - (3 / 4) * ln (3 / 4) - 1 / 4 * - (2 * ln 2)).
    assert (h <= ln 2 - 96 / 1000) by (unfold h; lra).
    destruct (Req_dec h (ln 2 - 96 / 1000)) as [-> |]; [lra |]. left. apply exp_increasing. lra.
  - replace (ln 2 - 96 / 1000) with (- (96 / 1000) + ln 2) by ring. rewrite exp_plus, exp_ln, exp_Ropp by lra.
    pose proof (exp_ineq1_le (96 / 1000)) as G. pose proof (exp_pos (96 / 1000)).
    assert (/ exp (96 / 1000) <= / (1 + 96 / 1000)) by (apply Rinv_le_contravar; lra).
    assert (/ (1 + 96 / 1000) <= 95 / 100); [| lra].
    apply (Rmult_le_reg_r (1 + 96 / 1000)); [lra |]. rewrite Rinv_l by lra. lra.
Qed.

(** N = 2, d = 1, one context with the distribution (3/4, 1/4): the bound is below 0. *)
(* Answers: dana.theorem-2, which does not print C < 1/2. *)
Theorem bound_of_theorem_2_can_be_negative : forall t, 0 <= t <= 1 ->
  printed_bound 2 1 (3 / 4) (entropy 2 (coin (3 / 4))) t < 0.
Proof.
  intros t Ht. destruct three_quarters_entropy as (H0 & H1). set (h := entropy 2 (coin (3 / 4))) in *.
  pose proof ln_two_lower as B.
  assert (C1 : 1 < printed_C 2 1).
  { rewrite <- sqrt_1 at 1. unfold printed_C. apply sqrt_lt_1_alt. split; [lra |]. simpl INR.
    assert (ln 2 <= ln (1 + 1 + 1)) by (apply ln_monotone; lra). unfold Rdiv. rewrite Rinv_1. lra. }
  set (C := printed_C 2 1) in *. unfold printed_bound. fold C.
  assert (G : 1 < exp h) by (rewrite <- exp_0; apply exp_increasing, H0).
  assert (L : 0 < ln ((INR 2 - 1) / (exp h - 1))).
  { simpl INR. rewrite <- ln_1. apply ln_increasing; [lra |]. replace (1 + 1 - 1) with 1 by ring.
    apply (Rmult_lt_reg_r (exp h - 1)); [lra |]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (D : 0 < (1 + 2 * C + C * t) / (2 * C - 1)).
  { apply Rdiv_lt_0_compat; [| lra]. assert (0 <= C * t) by (apply Rmult_le_pos; lra). lra. }
  replace ((1 + 2 * C + C * t) / (1 - 2 * C)) with (- ((1 + 2 * C + C * t) / (2 * C - 1))) by (field; lra).
  set (x := ln ((INR 2 - 1) / (exp h - 1))) in *. set (y := _ / (2 * C - 1)) in *.
  assert (0 < (1 - 3 / 4) * x * y) by (apply Rmult_lt_0_compat; [lra | exact D]).
  replace ((1 - 3 / 4) * x * - y) with (- ((1 - 3 / 4) * x * y)) by ring. lra.
Qed.

(** So Theorem 2 needs a condition on C. *)
(* Answers: dana.theorem-2, which does not print C < 1/2. *)
Theorem theorem_2_needs_a_condition : ~ printed_theorem_2.
Proof.
  intro H. pose proof (bound_of_theorem_2_can_be_negative 0 ltac:(lra)) as B.
  set (b := printed_bound 2 1 (3 / 4) (entropy 2 (coin (3 / 4))) 0) in *.
  assert (Hlaw : distribution 2 (coin (3 / 4))) by (apply coin_distribution; lra).
  destruct (H 2%nat 1%nat 1%nat (fun _ => 1) (fun _ => coin (3 / 4)) (fun _ => 0%nat) (fun _ => 0)) with (gamma := - b / 2)
    as [E [W L]]; [lia | split; [intros; lra | simpl; ring] | | lra |].
  - intros t _. destruct three_quarters_entropy as (H0 & H1). split; [exact Hlaw |]. split; [lia |]. split; [| lra].
    split; [exact H0 |]. simpl INR. rewrite <- (ln_exp (entropy 2 (coin (3 / 4)))).
    apply ln_increasing; [apply exp_pos | lra].
  - unfold encoder_divergence in L. cbn [Sum] in L. rewrite Rplus_0_l, Rmult_1_l in L.
    change (coin (3 / 4) 0%nat) with (3 / 4) in L. fold b in L.
    pose proof (softmax_distribution 2 (fun n => 0 + E 0%nat 0%nat * W 0%nat n) ltac:(lia)) as [_ One].
    pose proof (divergence_nonnegative 2 (coin (3 / 4)) _ Hlaw
      (fun n _ => softmax_positive 2 (fun n => 0 + E 0%nat 0%nat * W 0%nat n) n ltac:(lia)) One). lra.
Qed.
