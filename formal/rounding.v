(** What rounded operations do to balls and to sums, for any rounding with a relative error of at most [u] and an
    absolute one of at most [tau]: hypotheses about three or more numbers, not about a machine. *)

From Coq Require Import Reals Lra Lia Arith.
From Formal Require Import sums.
Open Scope R_scope.

(** [m] is a rounding of [x]: relative to the result, as for float64 with u = 2^-53, tau = 2^-1075 (0 for sums). *)
Definition rounded (u tau x m : R) : Prop := Rabs (m - x) <= u * Rabs m + tau.

(** The ball around [m] with radius [r] holds [x]. *)
Definition in_ball (x m r : R) : Prop := Rabs (x - m) <= r.

(** Lemma A5 of docs/rigour/arithmetic.md: the sum of two balls. *)
(* Answers: Lemma A5, in real numbers. *)
Theorem sum_of_balls : forall u x y a b m ra rb r, in_ball x a ra -> in_ball y b rb -> rounded u 0 (a + b) m ->
  u * Rabs m + ra + rb <= r -> in_ball (x + y) m r.
Proof.
  unfold in_ball, rounded. intros u x y a b m ra rb r Hx Hy Hm Hr.
  replace (x + y - m) with ((x - a) + ((y - b) + (a + b - m))) by ring.
  pose proof (Rabs_triang (x - a) ((y - b) + (a + b - m))). pose proof (Rabs_triang (y - b) (a + b - m)).
  rewrite (Rabs_minus_sym m (a + b)) in Hm. lra.
Qed.

(** Lemma A5: the product of two balls. *)
(* Answers: Lemma A5, in real numbers. *)
Theorem product_of_balls : forall u tau x y a b m ra rb r, in_ball x a ra -> in_ball y b rb ->
  rounded u tau (a * b) m -> Rabs a * rb + ra * (Rabs b + rb) + u * Rabs m + tau <= r -> in_ball (x * y) m r.
Proof.
  unfold in_ball, rounded. intros u tau x y a b m ra rb r Hx Hy Hm Hr.
  replace (x * y - m) with (a * (y - b) + ((x - a) * b + ((x - a) * (y - b) + (a * b - m)))) by ring.
  pose proof (Rabs_triang (a * (y - b)) ((x - a) * b + ((x - a) * (y - b) + (a * b - m)))).
  pose proof (Rabs_triang ((x - a) * b) ((x - a) * (y - b) + (a * b - m))).
  pose proof (Rabs_triang ((x - a) * (y - b)) (a * b - m)).
  rewrite (Rabs_minus_sym m (a * b)) in Hm. rewrite !Rabs_mult in *.
  pose proof (Rabs_pos (x - a)). pose proof (Rabs_pos (y - b)). pose proof (Rabs_pos a). pose proof (Rabs_pos b).
  assert (Rabs a * Rabs (y - b) <= Rabs a * rb) by (apply Rmult_le_compat_l; assumption).
  assert (Rabs (x - a) * Rabs b <= ra * Rabs b) by (apply Rmult_le_compat_r; assumption).
  assert (Rabs (x - a) * Rabs (y - b) <= ra * rb) by (apply Rmult_le_compat; assumption). lra.
Qed.

(** A sum of [n + 1] numbers from left to right, every partial sum rounded with a relative error of at most [u]:
    the error is at most ((1 + u)^n - 1) times the sum of the absolute values. *)
(* Answers: Lemma A6, for one order. *)
Theorem recursive_sum : forall u x s n, 0 <= u -> s 0%nat = x 0%nat ->
  (forall i, (i < n)%nat -> Rabs (s (S i) - (s i + x (S i))) <= u * Rabs (s i + x (S i))) ->
  Rabs (s n - Sum (S n) x) <= ((1 + u) ^ n - 1) * Sum (S n) (fun i => Rabs (x i)).
Proof.
  intros u x s n Hu H0. induction n as [| n IH]; intro Hs.
  - simpl. rewrite H0, Rplus_0_l. replace (x 0%nat - x 0%nat) with 0 by ring. rewrite Rabs_R0. lra.
  - specialize (IH ltac:(intros; apply Hs; lia)). specialize (Hs n ltac:(lia)).
    change (Sum (S (S n)) x) with (Sum (S n) x + x (S n)).
    change (Sum (S (S n)) (fun i => Rabs (x i))) with (Sum (S n) (fun i => Rabs (x i)) + Rabs (x (S n))).
    set (A := Sum (S n) (fun i => Rabs (x i))) in *. set (T := Sum (S n) x) in *.
    assert (HT : Rabs T <= A).
    { unfold T, A. clear. generalize (S n). intro k. induction k as [| k IH]; simpl; [rewrite Rabs_R0; lra |].
      pose proof (Rabs_triang (Sum k x) (x k)). lra. }
    assert (HA : 0 <= A) by (unfold A; apply Sum_nonnegative; intros; apply Rabs_pos).
    pose proof (pow_R1_Rle (1 + u) n ltac:(lra)) as P.
    set (g := (1 + u) ^ n) in *. simpl pow. fold g.
    replace (s (S n) - (T + x (S n))) with ((s (S n) - (s n + x (S n))) + (s n - T)) by ring.
    pose proof (Rabs_triang (s (S n) - (s n + x (S n))) (s n - T)).
    assert (Hpartial : Rabs (s n + x (S n)) <= g * A + Rabs (x (S n))).
    { replace (s n + x (S n)) with ((s n - T) + (T + x (S n))) by ring.
      pose proof (Rabs_triang (s n - T) (T + x (S n))). pose proof (Rabs_triang T (x (S n))). lra. }
    apply (Rmult_le_compat_l u) in Hpartial; [| assumption].
    pose proof (Rabs_pos (x (S n))) as X.
    assert (0 <= (1 + u) * (g - 1) * Rabs (x (S n))) by (apply Rmult_le_pos; [apply Rmult_le_pos |]; lra).
    lra.
Qed.

(** The hypotheses can be met by a rounding that does round: 1/3 to one digit. *)
Example a_rounding_that_rounds : rounded (1 / 8) 0 (1 / 3) (3 / 10).
Proof. unfold rounded. rewrite Rabs_left, Rabs_right by lra. lra. Qed.
