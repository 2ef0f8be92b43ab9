(** Bounds of logarithms and exponentials by rational numbers. *)

From Coq Require Import Reals Lra Lia ZArith.
From Formal Require Import divergence.
Open Scope R_scope.

Lemma exp_below_two : forall x, 0 <= x < 2 -> exp x <= (2 + x) / (2 - x).
Proof.
  intros x Hx. destruct (Req_dec x 0) as [-> | Hne]; [rewrite exp_0; lra |].
  assert (D : forall c, 0 <= c <= x -> derivable_pt_lim (fun y => (2 - y) * exp y) c ((1 - c) * exp c)).
  { intros c _. replace ((1 - c) * exp c) with ((0 - 1) * exp c + (2 - c) * exp c) by ring.
    apply (derivable_pt_lim_mult (fun y => 2 - y) exp).
    - apply (derivable_pt_lim_minus (fun _ => 2) (fun y => y)); 
        [apply derivable_pt_lim_const | apply derivable_pt_lim_id].
    - apply derivable_pt_lim_exp. }
  destruct (MVT_cor2 (fun y => (2 - y) * exp y) (fun c => (1 - c) * exp c) 0 x ltac:(lra) D) as [c [E Hc]].
  rewrite exp_0 in E.
  assert ((1 - c) * exp c <= 1).
  { pose proof (exp_ineq1_le (- c)) as L. apply (Rmult_le_compat_r (exp c)) in L; [| left; apply exp_pos].
    rewrite <- exp_plus in L. replace (- c + c) with 0 in L by ring. rewrite exp_0 in L. lra. }
  assert ((1 - c) * exp c * (x - 0) <= 1 * (x - 0)) by (apply Rmult_le_compat_r; lra).
  apply (Rmult_le_reg_r (2 - x)); [lra |].
  replace ((2 + x) / (2 - x) * (2 - x)) with (2 + x) by (field; lra). lra.
Qed.

Lemma exp_power : forall n x, exp (INR n * x) = exp x ^ n.
Proof.
  intros n x. induction n as [| n IH]; [simpl; rewrite Rmult_0_l; apply exp_0 |].
  rewrite S_INR, Rmult_plus_distr_r, exp_plus, IH, Rmult_1_l. simpl. ring.
Qed.

Lemma ln_power : forall n x, 0 < x -> ln (x ^ n) = INR n * ln x.
Proof.
  intros n x Hx. induction n as [| n IH]; [simpl; rewrite ln_1; ring |].
  rewrite S_INR. simpl pow. rewrite ln_mult, IH by (try assumption; apply pow_lt; assumption). ring.
Qed.


Lemma ln_two_lower : 6931 / 10000 < ln 2.
Proof.
  assert (E : exp (6931 / 10000) < 2).
  { replace (6931 / 10000) with (INR 40 * (173275 / 10000000)) by (rewrite INR_IZR_INZ; simpl; field).
    rewrite exp_power. apply Rle_lt_trans with ((20173275 / 19826725) ^ 40).
    - apply pow_incr. split; [left; apply exp_pos |].
      apply Rle_trans with ((2 + 173275 / 10000000) / (2 - 173275 / 10000000)); [apply exp_below_two; lra |].
      right. field.
    - unfold Rdiv. rewrite Rpow_mult_distr, pow_inv. apply (Rmult_lt_reg_r (19826725 ^ 40)); [apply pow_lt; lra |].
      rewrite Rmult_assoc, Rinv_l, Rmult_1_r by (apply pow_nonzero; lra).
      rewrite !pow_IZR, <- mult_IZR. apply IZR_lt. vm_compute. reflexivity. }
  rewrite <- (ln_exp (6931 / 10000)). apply ln_increasing; [apply exp_pos | exact E].
Qed.

Lemma ln_five_upper : 59 * ln 5 < 137 * ln 2.
Proof.
  assert (P : 5 ^ 59 < 2 ^ 137) by (rewrite !pow_IZR; apply IZR_lt; vm_compute; reflexivity).
  apply ln_increasing in P; [| apply pow_lt; lra].
  rewrite !ln_power in P by lra. rewrite !INR_IZR_INZ in P. exact P.
Qed.

Lemma ln_monotone : forall x y, 0 < x -> x <= y -> ln x <= ln y.
Proof. intros x y Hx [H | ->]; [left; apply ln_increasing; assumption | lra]. Qed.

Lemma ln_quotient : forall x y, 0 < x -> 0 < y -> ln (x / y) = ln x - ln y.
Proof.
  intros x y Hx Hy. unfold Rdiv. rewrite ln_mult, ln_Rinv; [ring | assumption | assumption |].
  apply Rinv_0_lt_compat, Hy.
Qed.
