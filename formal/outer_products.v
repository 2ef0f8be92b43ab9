(** A sum of outer products as an associative memory, from the slides of Dana (2024) after Bietti et al. (2023). *)

From Coq Require Import Reals Lra Lia Arith.
From Formal Require Import sums.
Open Scope R_scope.

(** W, the sum over all [T] pairs of the outer products of the output vector of g(i) and the input vector of i; the
    logit of token [n] for the input [i]; and whether the largest one, alone, is that of g(i). *)
Definition memory (T : nat) (u e : nat -> nat -> R) (g : nat -> nat) (a b : nat) : R := Sum T (fun i => u (g i) a * e i b).
Definition recalled (d T : nat) (u e : nat -> nat -> R) (g : nat -> nat) (i n : nat) : R :=
  Sum d (fun a => Sum d (fun b => u n a * memory T u e g a b * e i b)).
Definition remembers (d T : nat) (u e : nat -> nat -> R) (g : nat -> nat) : Prop :=
  forall i n, (i < T)%nat -> (n < T)%nat -> n <> g i -> recalled d T u e g i n < recalled d T u e g i (g i).

(** It can remember d associations of a mapping, and no more, whatever the vectors are. *)
Definition printed_number_of_associations : Prop :=
  forall d T u e g, (forall i, (i < T)%nat -> (g i < T)%nat) -> remembers d T u e g -> (T <= d)%nat.

(** The unit vectors and their negatives, number 2 a and 2 a + 1. *)
Definition cross (i a : nat) : R := if Nat.even i then delta (i / 2) a else - delta (i / 2) a.

Lemma cross_even : forall a b, cross (2 * a) b = delta a b.
Proof.
  intros a b. unfold cross. rewrite Nat.even_mul. simpl orb.
  replace (2 * a / 2)%nat with a by (rewrite Nat.mul_comm, Nat.div_mul; lia). reflexivity.
Qed.

Lemma cross_odd : forall a b, cross (2 * a + 1) b = - delta a b.
Proof.
  intros a b. assert (E : ((2 * a + 1) / 2 = a)%nat) by (symmetry; apply (Nat.div_unique _ 2 a 1); lia).
  unfold cross. rewrite E, Nat.even_add, Nat.even_mul. reflexivity.
Qed.

(** Their outer products add up to twice the unit matrix. *)
Lemma cross_memory : forall d a b, (a < d)%nat -> memory (2 * d) cross cross (fun i => i) a b = 2 * delta a b.
Proof.
  intros d a b Ha. unfold memory.
  assert (G : forall m, Sum (2 * m) (fun i => cross i a * cross i b) = if lt_dec a m then 2 * delta a b else 0).
  { induction m as [| m IH]; [destruct (lt_dec a 0); [lia | reflexivity] |].
    replace (2 * S m)%nat with (S (S (2 * m))) by lia. cbn [Sum]. rewrite IH.
    replace (S (2 * m)) with (2 * m + 1)%nat by lia. rewrite !cross_even, !cross_odd.
    destruct (Nat.eq_dec m a) as [-> | Hne].
    - rewrite delta_same. destruct (lt_dec a a); [lia |]. destruct (lt_dec a (S a)); [ring | lia].
    - rewrite (delta_different m a) by assumption. destruct (lt_dec a m), (lt_dec a (S m)); try lia; ring. }
  rewrite G. destruct (lt_dec a d); [reflexivity | lia].
Qed.

Lemma cross_recalled : forall d i n, recalled d (2 * d) cross cross (fun i => i) i n = 2 * Sum d (fun a => cross n a * cross i a).
Proof.
  intros d i n. unfold recalled. rewrite <- Sum_scale. apply Sum_ext. intros a Ha.
  rewrite (Sum_ext d _ (fun b => delta a b * (2 * (cross n a * cross i b)))).
  - rewrite (Sum_delta d a (fun b => 2 * (cross n a * cross i b))) by assumption. reflexivity.
  - intros b _. rewrite cross_memory by assumption. ring.
Qed.

(** Vector [i] has the product 1 with itself, and 0 or -1 with another one. *)
Lemma cross_product : forall d i n, (i < 2 * d)%nat ->
  Sum d (fun a => cross n a * cross i a) = if Nat.eq_dec (n / 2) (i / 2) then (if Nat.eq_dec n i then 1 else -1) else 0.
Proof.
  intros d i n Hi.
  assert (P : forall m, m = (2 * (m / 2))%nat \/ m = (2 * (m / 2) + 1)%nat).
  { intro m. pose proof (Nat.div_mod_eq m 2). pose proof (Nat.mod_upper_bound m 2 ltac:(lia)). lia. }
  assert (Hd : (i / 2 < d)%nat) by (apply Nat.div_lt_upper_bound; lia).
  set (a := (i / 2)%nat) in *. set (b := (n / 2)%nat) in *.
  assert (S1 : forall s t, Sum d (fun c => s * delta b c * (t * delta a c)) = if Nat.eq_dec b a then s * t else 0).
  { intros s t. rewrite (Sum_ext d _ (fun c => delta a c * (s * t * delta b c))) by (intros; ring).
    rewrite (Sum_delta d a (fun c => s * t * delta b c)) by assumption. unfold delta. destruct (Nat.eq_dec b a); ring. }
  assert (S2 : forall j c, cross j c = (if Nat.even j then 1 else -1) * delta (j / 2) c).
  { intros j c. unfold cross. destruct (Nat.even j); ring. }
  rewrite (Sum_ext d _ (fun c => (if Nat.even n then 1 else -1) * delta b c * ((if Nat.even i then 1 else -1) * delta a c)))
    by (intros; rewrite !S2; reflexivity).
  rewrite S1. destruct (Nat.eq_dec b a) as [E |]; [| reflexivity].
  assert (V : forall m, Nat.even m = if Nat.eq_dec m (2 * (m / 2)) then true else false).
  { intro m. destruct (Nat.eq_dec m (2 * (m / 2))) as [F | F].
    - rewrite F, Nat.even_mul. reflexivity.
    - destruct (P m) as [F' | F']; [contradiction |]. rewrite F', Nat.even_add, Nat.even_mul. reflexivity. }
  rewrite !V. fold a b. pose proof (P n) as Pn. pose proof (P i) as Pi. fold b in Pn. fold a in Pi.
  destruct (Nat.eq_dec n (2 * b)), (Nat.eq_dec i (2 * a)), (Nat.eq_dec n i); try lia; ring.
Qed.

(** In [d] dimensions 2 d associations are remembered: the identity, with these vectors for inputs and outputs. *)
(* Answers: slides.associative-memory: of one given mapping a sum of outer products stores more than d pairs, with
   vectors of one's choice. *)
Theorem twice_as_many_are_remembered : forall d, remembers d (2 * d) cross cross (fun i => i).
Proof.
  intros d i n Hi Hn Hne. rewrite !cross_recalled, !cross_product by assumption.
  destruct (Nat.eq_dec (n / 2) (i / 2)), (Nat.eq_dec (i / 2) (i / 2)), (Nat.eq_dec n i), (Nat.eq_dec i i); try lia; lra.
Qed.

(** So of one mapping more than [d] pairs can be remembered. *)
(* Answers: slides.associative-memory: of one given mapping a sum of outer products stores more than d pairs, with
   vectors of one's choice. *)
Theorem more_associations_than_dimensions : ~ printed_number_of_associations.
Proof.
  intro H. specialize (H 1%nat 2%nat cross cross (fun i => i) (fun i Hi => Hi) (twice_as_many_are_remembered 1)). lia.
Qed.
