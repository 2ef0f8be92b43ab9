(** Definition 2 and Lemma 4 of Dana, Pydi and Chevaleyre (2024): logits that approximate a distribution at the rate
    [delta] are said to have a range of the order log(1 / delta). They need not, and for some distributions they cannot.
    *)

From Coq Require Import Reals Lra Lia Arith Rpower.
From Formal Require Import sums divergence bounds.
Open Scope R_scope.

(** The logits of a sequence encoder of dimension [d]. *)
Definition encoder (d : nat) (E W : nat -> nat -> R) (t n : nat) : R := Sum d (fun i => E t i * W i n).

(** The logarithm of the quotient of a distribution and the softmax of logits. *)
Definition log_ratio (N : nat) (p z : nat -> R) (j : nat) : R := ln (p j / softmax N z j).

(** Definition 2, the inequalities (1) of docs/claims/logit_range.md for one delta. *)
Definition approximates (N T : nat) (p f : nat -> nat -> R) (c alpha delta : R) : Prop :=
  forall t j, (t < T)%nat -> (j < N)%nat -> 0 < p t j ->
    c * Rpower delta alpha <= Rabs (log_ratio N (p t) (f t) j) <= delta.

(** Encoders E_delta, W_delta of dimension [d] for all small delta. *)
Definition approximating_sequence (N T d : nat) (p : nat -> nat -> R) (E W : R -> nat -> nat -> R)
    (c alpha : R) : Prop :=
  0 < c /\ 1 <= alpha /\ exists delta_0, 0 < delta_0 /\
    forall delta, 0 < delta <= delta_0 -> approximates N T p (encoder d (E delta) (W delta)) c alpha delta.

(** The range of logits is at most [r]: no difference of two of them is larger. *)
Definition range_at_most (N : nat) (z : nat -> R) (r : R) : Prop :=
  forall i j, (i < N)%nat -> (j < N)%nat -> z i - z j <= r.

(** Lemma 4 as printed. *)
Definition printed_lemma_4 : Prop :=
  forall N T d p E W c alpha, (forall t, (t < T)%nat -> distribution N (p t)) -> approximating_sequence N T d p E W c alpha ->
    exists K delta_1, 0 < delta_1 /\ forall delta t, 0 < delta <= delta_1 -> (t < T)%nat ->
      range_at_most N (encoder d (E delta) (W delta) t) (K * ln (1 / delta)).

Lemma log_ratio_value : forall N p z j, (0 < N)%nat -> 0 < p j ->
  log_ratio N p z j = ln (p j) - z j + ln (Sum N (fun i => exp (z i))).
Proof.
  intros N p z j HN Hp. unfold log_ratio, softmax.
  pose proof (normalizer_positive N z HN). pose proof (exp_pos (z j)).
  rewrite !ln_quotient, ln_exp; try assumption; [ring |]. apply Rdiv_lt_0_compat; assumption.
Qed.

Lemma exp_square_below : forall x, 0 <= x -> x * x / 4 <= exp x.
Proof.
  intros x Hx. pose proof (exp_ineq1_le (x / 2)) as E.
  replace (exp x) with (exp (x / 2) * exp (x / 2)) by (rewrite <- exp_plus; f_equal; field).
  assert ((1 + x / 2) * (1 + x / 2) <= exp (x / 2) * exp (x / 2)) by (apply Rmult_le_compat; lra). nra.
Qed.


(** ** Any range *)

Definition undecided_distribution (t n : nat) : R := match n with 0%nat => 1 / 2 | 1%nat => 1 / 2 | _ => 0 end.
Definition undecided_weights (delta : R) (i n : nat) : R :=
  match n with 0%nat => delta / 2 | 1%nat => - (delta / 2) | _ => - exp (1 / delta) end.

Lemma undecided_mass : forall delta, 0 < delta <= 1 / 20 -> exp (- exp (1 / delta)) <= 4 * (delta * delta).
Proof.
  intros delta H. assert (Hd : 0 < 1 / delta) by (apply Rdiv_lt_0_compat; lra).
  pose proof (exp_square_below (1 / delta) ltac:(lra)) as A. pose proof (exp_ineq1_le (exp (1 / delta))) as B.
  rewrite exp_Ropp. replace (4 * (delta * delta)) with (/ (1 / delta * (1 / delta) / 4)) by (field; lra).
  apply Rinv_le_contravar; [| lra]. apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat |]; lra.
Qed.

Lemma undecided_approximates : forall delta, 0 < delta <= 1 / 20 ->
  approximates 3 1 undecided_distribution (encoder 1 (fun _ _ => 1) (undecided_weights delta)) (1 / 4) 1 delta.
Proof.
  intros delta H t j Ht Hj Hp. rewrite Rpower_1 by lra.
  assert (Hz : forall n, encoder 1 (fun _ _ => 1) (undecided_weights delta) t n = undecided_weights delta 0 n)
    by (intro n; unfold encoder; simpl; ring).
  rewrite log_ratio_value by (try lia; assumption). rewrite Hz.
  rewrite (Sum_ext 3 _ (fun i => exp (undecided_weights delta 0 i))) by (intros; rewrite Hz; reflexivity).
  simpl Sum. rewrite Rplus_0_l.
  pose proof (undecided_mass delta H) as Hmass. pose proof (exp_pos (- exp (1 / delta))).
  set (tau := exp (- exp (1 / delta))) in *. set (x := delta / 2) in *.
  set (Z := exp x + exp (- x) + tau).
  assert (Hx : 0 < x <= 1 / 40) by (unfold x; lra).
  pose proof (exp_ineq1_le x). pose proof (exp_ineq1_le (- x)).
  assert (Hup : exp x <= / (1 - x)).
  { rewrite <- (Rinv_inv (exp x)), <- exp_Ropp. apply Rinv_le_contravar; lra. }
  assert (Hdown : exp (- x) <= / (1 + x)) by (rewrite exp_Ropp; apply Rinv_le_contravar; lra).
  assert (Hsum : / (1 - x) + / (1 + x) <= 2 + 4 * (x * x)).
  { assert (Hs : 0 < x * x <= 1 / 40 * (1 / 40)) by (split; [| apply Rmult_le_compat]; nra).
    replace (/ (1 - x) + / (1 + x)) with (2 * / (1 - x * x)) by (field; repeat split; nra).
    set (s := x * x) in *. apply (Rmult_le_reg_r (1 - s)); [lra |]. rewrite Rmult_assoc, Rinv_l by lra. nra. }
  assert (HL : ln (1 / 2) + ln Z = ln (Z / 2)).
  { rewrite <- ln_mult; [f_equal; field | lra | unfold Z; lra]. }
  assert (L0 : 0 <= ln (Z / 2)).
  { rewrite <- ln_1. apply ln_monotone; [lra |]. unfold Z. lra. }
  assert (L1 : ln (Z / 2) <= delta / 4).
  { apply Rle_trans with (Z / 2 - 1); [apply ln_le_minus_one; unfold Z; lra |].
    unfold Z. assert (x * x <= x * (1 / 40)) by (apply Rmult_le_compat_l; lra).
    assert (delta * delta <= delta * (1 / 20)) by (apply Rmult_le_compat_l; lra). unfold x in *. lra. }
  destruct j as [| [| j]]; simpl in *; [| | lra].
  - unfold undecided_distribution, undecided_weights. fold x.
    replace (ln (1 / 2) - x + ln Z) with (ln (Z / 2) - x) by lra.
    rewrite Rabs_left by (unfold x in *; lra). unfold x in *. lra.
  - unfold undecided_distribution, undecided_weights. fold x.
    replace (ln (1 / 2) - - x + ln Z) with (ln (Z / 2) + x) by lra.
    rewrite Rabs_right by (unfold x in *; lra). unfold x in *. lra.
Qed.

(** For the distribution (1/2, 1/2, 0) some sequence satisfies Definition 2 with alpha = 1 and has a range above
    e^(1 / delta). *)
(* Answers: dana.lemma-4, (2) of docs/claims/logit_range.md. *)
Theorem undecided_range_is_exponential :
  approximating_sequence 3 1 1 undecided_distribution (fun _ _ _ => 1) undecided_weights (1 / 4) 1 /\
  forall delta r, 0 < delta ->
    range_at_most 3 (encoder 1 (fun _ _ => 1) (undecided_weights delta) 0) r -> exp (1 / delta) < r.
Proof.
  split.
  - split; [lra |]. split; [lra |]. exists (1 / 20). split; [lra |]. exact undecided_approximates.
  - intros delta r Hdelta H. specialize (H 0%nat 2%nat ltac:(lia) ltac:(lia)). unfold encoder in H. simpl in H. lra.
Qed.

Lemma reciprocal_is_small : forall delta y, 0 < delta -> 1 <= y -> 1 / delta <= y -> 0 < 1 / y <= delta.
Proof.
  intros delta y Hdelta Hy H. split; [apply Rdiv_lt_0_compat; lra |]. apply (Rmult_le_reg_r y); [lra |].
  replace (1 / y * y) with 1 by (field; lra). replace 1 with (delta * (1 / delta)) at 1 by (field; lra).
  apply Rmult_le_compat_l; lra.
Qed.

(** Lemma 4 as printed is false. *)
(* Answers: dana.lemma-4, (2) of docs/claims/logit_range.md. *)
Theorem lemma_4_is_false : ~ printed_lemma_4.
Proof.
  intro H. destruct undecided_range_is_exponential as [Hseq Hrange].
  destruct (H 3%nat 1%nat 1%nat undecided_distribution (fun _ _ _ => 1) undecided_weights (1 / 4) 1)
    as [K [delta_1 [Hd1 Hall]]].
  - intros t _. split; [intros [| [| n]] _; simpl; lra | simpl; lra].
  - exact Hseq.
  - set (y := 1 + 1 / delta_1 + 4 * Rabs K).
    assert (0 < 1 / delta_1) by (apply Rdiv_lt_0_compat; lra). pose proof (Rabs_pos K). pose proof (Rle_abs K).
    assert (Hy : 1 <= y) by (unfold y; lra).
    assert (Hd : 0 < 1 / y <= delta_1) by (apply reciprocal_is_small; unfold y in *; lra).
    pose proof (Hrange (1 / y) _ (proj1 Hd) (Hall (1 / y) 0%nat Hd ltac:(lia))) as R.
    replace (1 / (1 / y)) with y in R by (field; lra).
    pose proof (exp_square_below y ltac:(lra)) as Q.
    pose proof (ln_le_minus_one y ltac:(lra)) as L.
    assert (0 <= ln y) by (rewrite <- ln_1; apply ln_monotone; lra).
    assert (K * ln y <= Rabs K * y)
      by (apply Rle_trans with (Rabs K * ln y); [apply Rmult_le_compat_r | apply Rmult_le_compat_l]; lra).
    assert (4 * Rabs K * y <= y * y) by (apply Rmult_le_compat_r; unfold y in *; lra). lra.
Qed.

(** With a slower rate, delta^(1 / delta), in the inequality from below. *)
Definition approximates_slowly (N T : nat) (p f : nat -> nat -> R) (delta : R) : Prop :=
  forall t j, (t < T)%nat -> (j < N)%nat -> 0 < p t j ->
    Rpower delta (1 / delta) <= Rabs (log_ratio N (p t) (f t) j) <= delta.

(** Appendix A.4, after Lemma 4: then the range is of the order of log (1 / delta) / delta. *)
Definition printed_slow_range : Prop :=
  forall N T d p E W delta_0, (forall t, (t < T)%nat -> distribution N (p t)) -> 0 < delta_0 ->
    (forall delta, 0 < delta <= delta_0 -> approximates_slowly N T p (encoder d (E delta) (W delta)) delta) ->
    exists K delta_1, 0 < delta_1 /\ forall delta t, 0 < delta <= delta_1 -> (t < T)%nat ->
      range_at_most N (encoder d (E delta) (W delta) t) (K * (1 / delta * ln (1 / delta))).

(** The rate says nothing of impossible tokens: the range is e^(1 / delta) and more for the distribution (1/2, 1/2, 0)
    again. *)
(* Answers: dana.slow-rate, the rate that is slower than every power. *)
Theorem slow_range_needs_impossible_tokens : ~ printed_slow_range.
Proof.
  intro H. destruct undecided_range_is_exponential as [_ Hrange].
  destruct (H 3%nat 1%nat 1%nat undecided_distribution (fun _ _ _ => 1) undecided_weights (1 / 20)) as [K [delta_1 [Hd1 Hall]]].
  - intros t _. split; [intros [| [| n]] _; simpl; lra | simpl; lra].
  - lra.
  - intros delta Hd t j Ht Hj Hp. pose proof (undecided_approximates delta Hd t j Ht Hj Hp) as [L U]. split; [| exact U].
    apply Rle_trans with (2 := L). rewrite Rpower_1 by lra.
    (* delta^(1 / delta) is at most delta^2, and delta is at most 1 / 4. *)
    apply Rle_trans with (Rpower delta 2).
    + unfold Rpower. assert (D : 2 <= 1 / delta).
      { apply (Rmult_le_reg_r delta); [lra |]. replace (1 / delta * delta) with 1 by (field; lra). lra. }
      assert (L0 : ln delta <= 0) by (rewrite <- ln_1; apply ln_monotone; lra).
      assert (1 / delta * ln delta <= 2 * ln delta) by nra.
      destruct (Req_dec (1 / delta * ln delta) (2 * ln delta)) as [-> |]; [lra |]. left. apply exp_increasing. lra.
    + replace 2 with (1 + 1) by ring. rewrite Rpower_plus, Rpower_1 by lra. nra.
  - set (y := 20 + 1 / delta_1 + 64 * Rabs K).
    assert (0 < 1 / delta_1) by (apply Rdiv_lt_0_compat; lra). pose proof (Rabs_pos K). pose proof (Rle_abs K).
    assert (Hy : 1 <= y) by (unfold y; lra).
    assert (Hd : 0 < 1 / y <= delta_1) by (apply reciprocal_is_small; unfold y in *; lra).
    pose proof (Hrange (1 / y) _ (proj1 Hd) (Hall (1 / y) 0%nat Hd ltac:(lia))) as R.
    replace (1 / (1 / y)) with y in R by (field; lra).
    pose proof (exp_square_below (y / 2) ltac:(lra)) as Q.
    assert (Q2 : y * y / 16 * (y * y / 16) <= exp y).
    { replace (exp y) with (exp (y / 2) * exp (y / 2)) by (rewrite <- exp_plus; f_equal; field).
      apply Rmult_le_compat; nra. }
    pose proof (ln_le_minus_one y ltac:(lra)) as L.
    assert (0 <= ln y) by (rewrite <- ln_1; apply ln_monotone; lra).
    assert (A : K * (y * ln y) <= Rabs K * (y * y)).
    { apply Rle_trans with (Rabs K * (y * ln y)); [apply Rmult_le_compat_r | apply Rmult_le_compat_l; [| apply Rmult_le_compat_l]]; nra. }
    assert (B : Rabs K * (y * y) <= y / 64 * (y * y)) by (apply Rmult_le_compat_r; [nra | unfold y; lra]).
    assert (C : y / 64 * (y * y) <= y * y / 16 * (y * y / 16)).
    { replace (y * y / 16 * (y * y / 16)) with (y / 256 * y * (y * y)) by field. apply Rmult_le_compat_r; [nra |].
      assert (4 <= y) by (unfold y; lra). nra. }
    lra.
Qed.

(** ** Every sequence *)

(** The distributions (3/4, 1/4, 0) and (2/5, 2/5, 1/5). *)
Definition diverging_distribution (t n : nat) : R :=
  match t with
  | 0%nat => match n with 0%nat => 3 / 4 | 1%nat => 1 / 4 | _ => 0 end
  | _ => match n with 0%nat => 2 / 5 | 1%nat => 2 / 5 | _ => 1 / 5 end
  end.

Lemma diverging_distribution_is_distribution : forall t, distribution 3 (diverging_distribution t).
Proof. intros [| t]; (split; [intros [| [| n]] _; simpl; lra | simpl; lra]). Qed.

(** Whatever the encoder of dimension 1: if its log ratios are at most delta, its range after the first context is at
    least (log 3 - 2 delta) (log 2 - 2 delta) / (2 delta). *)
(* Answers: dana.lemma-4, (2) of docs/claims/logit_range.md. *)
Theorem every_approximating_range_is_large : forall E W delta r, 0 < delta -> 2 * delta < ln 2 ->
  (forall t j, (t < 2)%nat -> (j < 3)%nat -> 0 < diverging_distribution t j ->
    Rabs (log_ratio 3 (diverging_distribution t) (encoder 1 E W t) j) <= delta) ->
  range_at_most 3 (encoder 1 E W 0) r -> (ln 3 - 2 * delta) * (ln 2 - 2 * delta) / (2 * delta) <= r.
Proof.
  intros E W delta r Hdelta Hsmall H Hrange.
  assert (Hz : forall t n, encoder 1 E W t n = E t 0%nat * W 0%nat n) by (intros; unfold encoder; simpl; ring).
  assert (D : forall t i j, (t < 2)%nat -> (i < 3)%nat -> (j < 3)%nat ->
    0 < diverging_distribution t i -> 0 < diverging_distribution t j ->
    - (2 * delta) <= (encoder 1 E W t i - encoder 1 E W t j) - (ln (diverging_distribution t i) - ln (diverging_distribution t j))
    <= 2 * delta).
  { intros t i j Ht Hi Hj Pi Pj. pose proof (H t i Ht Hi Pi) as A. pose proof (H t j Ht Hj Pj) as B.
    rewrite log_ratio_value in A, B by (try lia; assumption).
    set (u := ln (diverging_distribution t i) - _ + _) in A. set (v := ln (diverging_distribution t j) - _ + _) in B.
    pose proof (Rle_abs u). pose proof (Rle_abs (- u)) as A'. pose proof (Rle_abs v). pose proof (Rle_abs (- v)) as B'.
    rewrite Rabs_Ropp in A', B'. unfold u, v in *. lra. }
  pose proof (D 0%nat 0%nat 1%nat ltac:(lia) ltac:(lia) ltac:(lia) ltac:(simpl; lra) ltac:(simpl; lra)) as X.
  pose proof (D 1%nat 0%nat 2%nat ltac:(lia) ltac:(lia) ltac:(lia) ltac:(simpl; lra) ltac:(simpl; lra)) as Y.
  pose proof (D 1%nat 0%nat 1%nat ltac:(lia) ltac:(lia) ltac:(lia) ltac:(simpl; lra) ltac:(simpl; lra)) as U.
  unfold diverging_distribution in X, Y, U.
  rewrite !ln_quotient, ?ln_1 in X by lra. rewrite !ln_quotient, ?ln_1 in Y by lra.
  assert (E1 : (encoder 1 E W 0 0 - encoder 1 E W 0 2) * (encoder 1 E W 1 0 - encoder 1 E W 1 1) =
               (encoder 1 E W 0 0 - encoder 1 E W 0 1) * (encoder 1 E W 1 0 - encoder 1 E W 1 2))
    by (rewrite !Hz; ring).
  pose proof (Hrange 0%nat 2%nat ltac:(lia) ltac:(lia)) as R02. pose proof (Hrange 2%nat 0%nat ltac:(lia) ltac:(lia))
    as R20.
  set (x := encoder 1 E W 0 0 - encoder 1 E W 0 1) in *. set (y := encoder 1 E W 1 0 - encoder 1 E W 1 2) in *.
  set (u := encoder 1 E W 1 0 - encoder 1 E W 1 1) in *.
  set (v := encoder 1 E W 0 0 - encoder 1 E W 0 2) in *.
  assert (ln 2 < ln 3) by (apply ln_increasing; lra).
  assert (P : (ln 3 - 2 * delta) * (ln 2 - 2 * delta) <= x * y) by (apply Rmult_le_compat; lra).
  assert (B : v * u <= r * (2 * delta)).
  { assert (- r <= v <= r) by (unfold v in *; lra). assert (- (2 * delta) <= u <= 2 * delta) by lra. nra. }
  apply (Rmult_le_reg_r (2 * delta)); [lra |]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. lra.
Qed.

(** Such encoders exist for all delta <= 1/512, with alpha = 1 and c = 1/10. *)
Definition first_gap (delta : R) : R := ln 3 - ln (1 - delta).
Definition second_scale (delta : R) : R := - ln (1 - delta) / first_gap delta.
Definition diverging_embedding (delta : R) (t i : nat) : R := match t with 0%nat => 1 | _ => second_scale delta end.
Definition diverging_weights (delta : R) (i n : nat) : R :=
  match n with 0%nat => 0 | 1%nat => - first_gap delta | _ => - (ln 2 / second_scale delta) end.

Lemma log_below_one : forall A eta, 0 < eta <= 1 -> 1 - eta / 2 <= A <= 1 - eta / 10 ->
  1 / 10 * eta <= Rabs (ln A) <= eta.
Proof.
  intros A eta H HA. pose proof (ln_le_minus_one A ltac:(lra)). pose proof (ln_ge_one_minus_inverse A ltac:(lra)).
  assert (/ A <= 1 + eta).
  { apply (Rmult_le_reg_r A); [lra |]. rewrite Rinv_l by lra. nra. }
  rewrite Rabs_left by lra. lra.
Qed.

Lemma log_above_one : forall A eta, 0 < eta <= 1 -> 1 + eta / 5 <= A <= 1 + eta -> 1 / 10 * eta <= Rabs (ln A) <= eta.
Proof.
  intros A eta H HA. pose proof (ln_le_minus_one A ltac:(lra)). pose proof (ln_ge_one_minus_inverse A ltac:(lra)).
  assert (/ A <= 1 - eta / 10).
  { apply (Rmult_le_reg_r A); [lra |]. rewrite Rinv_l by lra. nra. }
  rewrite Rabs_right by lra. lra.
Qed.

(** Encoders that satisfy Definition 2 exist for these distributions, with c = 1/10, alpha = 1, delta <= 1/512. *)
(* Answers: dana.lemma-4, (2) of docs/claims/logit_range.md. *)
Theorem diverging_sequence_exists :
  approximating_sequence 3 2 1 diverging_distribution diverging_embedding diverging_weights (1 / 10) 1.
Proof.
  split; [lra |]. split; [lra |]. exists (1 / 512). split; [lra |].
  intros eta H t j Ht Hj Hp. rewrite Rpower_1 by lra.
  pose proof (ln_le_minus_one (1 - eta) ltac:(lra)) as Lup. pose proof (ln_ge_one_minus_inverse (1 - eta) ltac:(lra))
    as Llow.
  assert (Hinv : / (1 - eta) <= 1 + 2 * eta).
  { apply (Rmult_le_reg_r (1 - eta)); [lra |]. rewrite Rinv_l by lra. nra. }
  assert (Hthree : 1 <= ln 3).
  { rewrite <- (ln_exp 1). apply ln_monotone; [apply exp_pos | apply exp_le_3]. }
  pose proof ln_two_lower as Htwo.
  set (g := - ln (1 - eta)) in *. assert (Hg : 0 < g <= 2 * eta) by (unfold g; lra).
  assert (Hgap : first_gap eta = ln 3 + g) by (unfold first_gap, g; ring).
  assert (Hscale : second_scale eta = g / (ln 3 + g)) by (unfold second_scale; rewrite Hgap; reflexivity).
  assert (Hspos : 0 < second_scale eta) by (rewrite Hscale; apply Rdiv_lt_0_compat; lra).
  set (lambda := ln 2 / second_scale eta).
  assert (Hlambda : 1 / (4 * eta) <= lambda).
  { unfold lambda. rewrite Hscale. replace (ln 2 / (g / (ln 3 + g))) with (ln 2 * (ln 3 + g) / g) by (field; lra).
    apply (Rmult_le_reg_r (4 * eta * g)); [nra |].
    replace (1 / (4 * eta) * (4 * eta * g)) with g by (field; lra).
    replace (ln 2 * (ln 3 + g) / g * (4 * eta * g)) with (4 * eta * (ln 2 * (ln 3 + g))) by (field; lra).
    assert (1 / 2 * 1 <= ln 2 * (ln 3 + g)) by (apply Rmult_le_compat; lra). nra. }
  assert (Hquarter : 0 < 1 / (4 * eta)) by (apply Rdiv_lt_0_compat; lra).
  set (tau := exp (- lambda)). assert (Htau0 : 0 < tau) by apply exp_pos.
  assert (Htau : tau <= eta / 8).
  { unfold tau. rewrite exp_Ropp. pose proof (exp_square_below lambda ltac:(lra)) as Q.
    assert (1 / (4 * eta) * (1 / (4 * eta)) <= lambda * lambda) by (apply Rmult_le_compat; lra).
    apply Rle_trans with (/ (1 / (4 * eta) * (1 / (4 * eta)) / 4)).
    - apply Rinv_le_contravar; [nra | lra].
    - replace (/ (1 / (4 * eta) * (1 / (4 * eta)) / 4)) with (64 * eta * eta) by (field; lra). nra. }
  assert (Egap : exp (- (ln 3 + g)) = (1 - eta) / 3).
  { unfold g. replace (- (ln 3 + - ln (1 - eta))) with (ln ((1 - eta) / 3)) by (rewrite ln_quotient by lra; ring).
    apply exp_ln. lra. }
  assert (Z0 : Sum 3 (fun i => exp (encoder 1 (diverging_embedding eta) (diverging_weights eta) 0 i)) =
               4 / 3 - eta / 3 + tau).
  { unfold encoder. simpl. rewrite !Rplus_0_l, !Rmult_1_l, exp_0, Hgap, Egap. fold lambda. fold tau. field. }
  assert (Z1 : Sum 3 (fun i => exp (encoder 1 (diverging_embedding eta) (diverging_weights eta) 1 i)) = 5 / 2 - eta).
  { unfold encoder. simpl. rewrite !Rplus_0_l, Rmult_0_r, exp_0, Hgap.
    replace (second_scale eta * - (ln 3 + g)) with (ln (1 - eta)) by (rewrite Hscale; unfold g in *; field; lra).
    replace (second_scale eta * - (ln 2 / second_scale eta)) with (- ln 2) by (field; lra).
    rewrite exp_ln, exp_Ropp, exp_ln by lra. field. }
  rewrite log_ratio_value by (try lia; assumption).
  destruct t as [| [| t]]; [| | lia].
  - rewrite Z0. unfold encoder. simpl Sum. unfold diverging_embedding, diverging_weights.
    destruct j as [| [| j]]; unfold diverging_distribution in *; [| | lra].
    + replace (ln (3 / 4) - (0 + 1 * 0) + ln (4 / 3 - eta / 3 + tau)) with (ln (1 - eta / 4 + 3 / 4 * tau)).
      * apply log_below_one; lra.
      * rewrite Rmult_0_r, Rplus_0_l, Rminus_0_r, <- ln_mult by lra. f_equal. field.
    + replace (ln (1 / 4) - (0 + 1 * - first_gap eta) + ln (4 / 3 - eta / 3 + tau))
        with (ln ((1 - eta / 4 + 3 / 4 * tau) / (1 - eta))).
      * apply log_above_one; [lra |]. split.
        -- apply (Rmult_le_reg_r (1 - eta)); [lra |]. unfold Rdiv at 2. rewrite Rmult_assoc, Rinv_l by lra. nra.
        -- apply (Rmult_le_reg_r (1 - eta)); [lra |]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra. nra.
      * unfold first_gap. rewrite ln_quotient by lra.
        replace (1 - eta / 4 + 3 / 4 * tau) with (1 / 4 * 3 * (4 / 3 - eta / 3 + tau)) by field.
        rewrite !ln_mult by lra. ring.
  - rewrite Z1. unfold encoder. simpl Sum. unfold diverging_embedding, diverging_weights.
    assert (Hlow : 1 / 10 * eta <= Rabs (ln (1 - 2 / 5 * eta)) <= eta) by (apply log_below_one; lra).
    destruct j as [| [| j]]; unfold diverging_distribution in *.
    + replace (ln (2 / 5) - (0 + second_scale eta * 0) + ln (5 / 2 - eta)) with (ln (1 - 2 / 5 * eta)); [assumption |].
      rewrite Rmult_0_r, Rplus_0_l, Rminus_0_r, <- ln_mult by lra. f_equal. field.
    + replace (ln (2 / 5) - (0 + second_scale eta * - first_gap eta) + ln (5 / 2 - eta))
        with (ln ((1 - 2 / 5 * eta) / (1 - eta))).
      * apply log_above_one; [lra |]. split.
        -- apply (Rmult_le_reg_r (1 - eta)); [lra |]. unfold Rdiv at 2. rewrite Rmult_assoc, Rinv_l by lra. nra.
        -- apply (Rmult_le_reg_r (1 - eta)); [lra |]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra. nra.
      * rewrite Hgap. replace (second_scale eta * - (ln 3 + g)) with (ln (1 - eta))
          by (rewrite Hscale; unfold g in *; field; lra).
        rewrite ln_quotient by lra. replace (1 - 2 / 5 * eta) with (2 / 5 * (5 / 2 - eta)) by field.
        rewrite ln_mult by lra. ring.
    + replace (ln (1 / 5) - (0 + second_scale eta * - (ln 2 / second_scale eta)) + ln (5 / 2 - eta))
        with (ln (1 - 2 / 5 * eta)); [assumption |].
      replace (second_scale eta * - (ln 2 / second_scale eta)) with (- ln 2) by (field; lra).
      replace (1 - 2 / 5 * eta) with (1 / 5 * 2 * (5 / 2 - eta)) by field. rewrite !ln_mult by lra. ring.
Qed.
