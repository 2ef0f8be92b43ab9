(** Theorem 3 of Dana, Pydi and Chevaleyre (2024) for given numbers of heads and widths, as Theorem 1 whose words it
    takes, and its refutation by exclusive or. With the number of heads free it is true as Theorem 1 is. *)

From Coq Require Import Reals List Lra Lia Arith Rpower.
From Formal Require Import sums attention accuracy exclusive_or divergence bounds divergence_floor theorem_1 logit_range.
Open Scope R_scope.

(** The distributions M(N, S, d) of Definition 2: encoders of dimension [d] approximate them. *)
Definition approximated (N T d : nat) (q : nat -> nat -> R) : Prop :=
  exists E W c alpha, approximating_sequence N T d q E W c alpha.

(** For given sizes some transformer comes, up to the order of epsilon log (1 / epsilon), as near to the distributions
    [p] as each of M(N, S, d) does. All T contexts are fewer than H d_h + d, so T_epsilon is for every epsilon. *)
Definition printed_theorem_3 : Prop :=
  forall N S d d_h H T ts prior p, (1 <= d_h <= d)%nat -> contexts_of N S T ts -> (T <= H * d_h + d)%nat ->
    (forall t, (t < T)%nat -> 0 < prior t) -> Sum T prior = 1 ->
    (forall t, (t < T)%nat -> distribution N (p t) /\ forall n, (n < N)%nat -> 0 < p t n) ->
    forall q, (forall t, (t < T)%nat -> distribution N (q t)) -> approximated N T d q ->
      exists K epsilon_0, 0 < epsilon_0 /\ forall epsilon, 0 < epsilon <= epsilon_0 ->
        exists m, sizes m N S d d_h H /\
          mean_divergence m T ts prior p <=
          Sum T (fun t => prior t * divergence N (p t) (q t)) + K * (epsilon * ln (1 / epsilon)).

(** The logits log 99 + delta and 0, or 0 and log 99 + delta, of which the distributions (99/100, 1/100) and (1/100,
    99/100) are the limits; the second dimension is not used. *)
Definition nearly_sure_rows (t i : nat) : R :=
  match i with 0%nat => match t with 0%nat | 1%nat => 1 | _ => -1 end | _ => 0 end.
Definition nearly_sure_weights (delta : R) (i n : nat) : R :=
  match n with 0%nat => ln 99 + delta | _ => 0 end.

Lemma exp_minus_between : forall x, 0 <= x <= 1 -> x / 2 <= 1 - exp (- x) <= x.
Proof.
  intros x H. pose proof (exp_ineq1_le (- x)). split; [| lra].
  assert (exp (- x) <= / (1 + x)).
  { rewrite exp_Ropp. apply Rinv_le_contravar; [lra | apply exp_ineq1_le]. }
  assert (/ (1 + x) <= 1 - x / 2); [| lra].
  apply (Rmult_le_reg_r (1 + x)); [lra |]. rewrite Rinv_l by lra. nra.
Qed.

(** With the logits log 99 + delta and 0 the likely token gains, and the other one loses, at most delta. *)
Lemma nearly_sure_ratios : forall delta, 0 < delta <= 1 ->
  delta / 1000 <= - (ln (99 / 100) - (ln 99 + delta) + ln (exp (ln 99 + delta) + 1)) <= delta /\
  delta / 1000 <= ln (1 / 100) + ln (exp (ln 99 + delta) + 1) <= delta.
Proof.
  intros delta H. rewrite exp_plus, exp_ln by lra. pose proof (exp_minus_between delta ltac:(lra)) as B.
  pose proof (exp_pos delta). pose proof (exp_pos (- delta)). pose proof (exp_ineq1_le delta) as G.
  assert (P : exp delta * exp (- delta) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  (* The first number is ln (1 - y / 100), y = 1 - e^-delta; the second one is delta more. *)
  set (y := 1 - exp (- delta)) in *.
  assert (E : ln (1 / 100) + ln (99 * exp delta + 1) = delta + ln (1 - y / 100)).
  { rewrite <- ln_mult by lra. rewrite <- (ln_exp delta) at 2. rewrite <- ln_mult by (unfold y; lra). f_equal.
    unfold y. replace (exp delta * (1 - (1 - exp (- delta)) / 100)) with (99 / 100 * exp delta + exp delta * exp (- delta) / 100) by field.
    rewrite P. field. }
  assert (E' : ln (99 / 100) = ln 99 + ln (1 / 100)).
  { rewrite <- ln_mult by lra. f_equal. field. }
  pose proof (ln_le_minus_one (1 - y / 100) ltac:(lra)) as U.
  pose proof (ln_ge_one_minus_inverse (1 - y / 100) ltac:(lra)) as L.
  assert (V : / (1 - y / 100) <= 1 + y / 50).
  { apply (Rmult_le_reg_r (1 - y / 100)); [lra |]. rewrite Rinv_l by lra. nra. }
  rewrite E'. split; lra.
Qed.

Lemma nearly_sure_is_approximated : forall d, (1 <= d)%nat ->
  approximated 2 4 d (exclusive_or_distribution (99 / 100)).
Proof.
  intros d Hd. exists (fun _ => nearly_sure_rows), nearly_sure_weights, (1 / 1000), 1.
  split; [lra |]. split; [lra |]. exists 1. split; [lra |]. intros delta H t j Ht Hj Hp. rewrite Rpower_1 by lra.
  assert (Hz : forall n, encoder d nearly_sure_rows (nearly_sure_weights delta) t n =
                         nearly_sure_rows t 0 * nearly_sure_weights delta 0 n).
  { intro n. unfold encoder. replace d with (1 + (d - 1))%nat by lia. rewrite Sum_split, (Sum_all_zero (d - 1)); [simpl; ring |].
    intros i _. simpl. ring. }
  rewrite log_ratio_value by (try lia; assumption). rewrite Hz.
  rewrite (Sum_ext 2 _ (fun i => exp (nearly_sure_rows t 0 * nearly_sure_weights delta 0 i))) by (intros; rewrite Hz; reflexivity).
  destruct (nearly_sure_ratios delta H) as (A & B).
  assert (C : exp (- (ln 99 + delta)) + 1 = exp (- (ln 99 + delta)) * (exp (ln 99 + delta) + 1)).
  { rewrite Rmult_plus_distr_l, <- exp_plus. replace (- (ln 99 + delta) + (ln 99 + delta)) with 0 by ring. rewrite exp_0. ring. }
  pose proof (exp_pos (ln 99 + delta)). pose proof (exp_pos (- (ln 99 + delta))).
  assert (D : ln (exp (- (ln 99 + delta)) + 1) = - (ln 99 + delta) + ln (exp (ln 99 + delta) + 1)).
  { rewrite C, ln_mult, ln_exp by lra. reflexivity. }
  simpl Sum. rewrite Rplus_0_l. unfold exclusive_or_distribution, coin, nearly_sure_rows, nearly_sure_weights.
  destruct t as [| [| t]]; destruct j as [| [| j]]; try lia; rewrite ?Rmult_1_l, ?Rmult_0_r, ?exp_0.
  1, 3: rewrite Rabs_left by lra; lra.
  1, 2: replace (1 - 99 / 100) with (1 / 100) by field; rewrite Rabs_right by lra; lra.
  - replace (-1 * (ln 99 + delta)) with (- (ln 99 + delta)) by ring. rewrite D. replace (1 - 99 / 100) with (1 / 100) by field.
    rewrite Rabs_right by lra. lra.
  - replace (-1 * (ln 99 + delta)) with (- (ln 99 + delta)) by ring. rewrite D. replace (1 - (1 - 99 / 100)) with (99 / 100) by field.
    rewrite Rabs_left by lra. lra.
Qed.

(** For every number K some small epsilon has K epsilon log (1 / epsilon) below 1/4. *)
Lemma small_rate : forall K epsilon_0, 0 < epsilon_0 ->
  exists epsilon, 0 < epsilon <= epsilon_0 /\ K * (epsilon * ln (1 / epsilon)) <= 1 / 4.
Proof.
  intros K epsilon_0 He. pose proof (Rabs_pos K). pose proof (Rle_abs K).
  set (s := Rmin epsilon_0 (1 / (8 * (Rabs K + 1)))).
  assert (Hq : 0 < 1 / (8 * (Rabs K + 1))) by (apply Rdiv_lt_0_compat; lra).
  assert (S0 : 0 < s) by (apply Rmin_pos; assumption).
  assert (S1 : s <= epsilon_0) by apply Rmin_l.
  assert (S2 : s * (8 * (Rabs K + 1)) <= 1).
  { apply Rle_trans with (1 / (8 * (Rabs K + 1)) * (8 * (Rabs K + 1))).
    - apply Rmult_le_compat_r; [lra | apply Rmin_r].
    - right. field. lra. }
  assert (S3 : s <= 1) by nra.
  exists (s * s). split; [split; nra |].
  assert (L : 0 <= ln (1 / (s * s)) <= 2 / s).
  { replace (1 / (s * s)) with (/ s * / s) by (field; lra). rewrite ln_mult by (apply Rinv_0_lt_compat; lra).
    assert (I : 1 <= / s) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra).
    pose proof (ln_le_minus_one (/ s) ltac:(lra)). pose proof (ln_monotone 1 (/ s) ltac:(lra) I) as M. rewrite ln_1 in M.
    unfold Rdiv. lra. }
  assert (X : 0 <= s * s * ln (1 / (s * s)) <= 2 * s).
  { split; [apply Rmult_le_pos; [nra | lra] |]. apply Rle_trans with (s * s * (2 / s)).
    - apply Rmult_le_compat_l; [nra | lra].
    - right. field. lra. }
  assert (K * (s * s * ln (1 / (s * s))) <= Rabs K * (2 * s)).
  { apply Rle_trans with (Rabs K * (s * s * ln (1 / (s * s)))); [apply Rmult_le_compat_r | apply Rmult_le_compat_l]; lra. }
  nra.
Qed.

(** Theorem 3 is false for given numbers of heads and widths: N = 2, S = 3, d = d_h = 2, H = 1. *)
(* Answers: dana.theorem-3, (6) of docs/claims/logit_range.md. *)
Theorem theorem_3_is_false : ~ printed_theorem_3.
Proof.
  intro H.
  assert (Hlaw : forall t, (t < 4)%nat -> distribution 2 (exclusive_or_distribution (99 / 100) t) /\
                           forall n, (n < 2)%nat -> 0 < exclusive_or_distribution (99 / 100) t n).
  { intros t _. destruct t as [| [| t]]; (split; [apply coin_distribution; lra | intros [| n] _; simpl; lra]). }
  destruct (H 2 3 2 2 1 4 (exclusive_or 3))%nat with (prior := fun _ : nat => 1 / 4) (p := exclusive_or_distribution (99 / 100))
    (q := exclusive_or_distribution (99 / 100)) as [K [epsilon_0 [He Hall]]];
    [lia | apply exclusive_or_contexts; lia | lia | intros; lra | simpl; lra | exact Hlaw |
     intros t Ht; apply Hlaw, Ht | apply nearly_sure_is_approximated; lia |].
  destruct (small_rate K epsilon_0 He) as [epsilon [Hepsilon Hsmall]].
  destruct (Hall epsilon Hepsilon) as [m [[Hout [Hctx [_ [_ one]]]] Hle]].
  pose proof (exclusive_or_divergence_at_ninety_nine_percent m ltac:(lia) one Hout) as F. rewrite Hctx in F.
  rewrite (Sum_all_zero 4) in Hle; [lra |]. intros t Ht. destruct (Hlaw t Ht) as [_ Hpos].
  unfold divergence. rewrite Sum_all_zero; [ring |]. intros n Hn. specialize (Hpos n Hn).
  unfold Rdiv. rewrite Rinv_r, ln_1 by lra. ring.
Qed.
