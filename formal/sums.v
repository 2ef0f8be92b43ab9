(** Finite sums of real numbers. *)

From Coq Require Import Reals Lra Lia Arith.
Open Scope R_scope.

(** [Sum n f] is [f 0 + ... + f (n - 1)]. *)
Fixpoint Sum (n : nat) (f : nat -> R) : R :=
  match n with
  | O => 0
  | S m => Sum m f + f m
  end.

(** 1 if the two numbers are equal, else 0. *)
Definition delta (i j : nat) : R := if Nat.eq_dec i j then 1 else 0.

Lemma delta_same : forall i, delta i i = 1.
Proof. intro i. unfold delta. destruct (Nat.eq_dec i i); [reflexivity | contradiction]. Qed.

Lemma delta_different : forall i j, i <> j -> delta i j = 0.
Proof. intros i j H. unfold delta. destruct (Nat.eq_dec i j); [contradiction | reflexivity]. Qed.

Lemma delta_sym : forall i j, delta i j = delta j i.
Proof. intros i j. unfold delta. destruct (Nat.eq_dec i j), (Nat.eq_dec j i); congruence. Qed.

Lemma Sum_ext : forall n f g, (forall i, (i < n)%nat -> f i = g i) -> Sum n f = Sum n g.
Proof.
  induction n as [| n IH]; intros f g H; simpl; [reflexivity |].
  rewrite (IH f g), (H n); [reflexivity | lia |]. intros i Hi. apply H. lia.
Qed.

Lemma Sum_zero : forall n, Sum n (fun _ => 0) = 0.
Proof. induction n as [| n IH]; simpl; [reflexivity | rewrite IH; ring]. Qed.

Lemma Sum_all_zero : forall n f, (forall i, (i < n)%nat -> f i = 0) -> Sum n f = 0.
Proof. intros n f H. rewrite (Sum_ext n f (fun _ => 0) H). apply Sum_zero. Qed.

Lemma Sum_plus : forall n f g, Sum n (fun i => f i + g i) = Sum n f + Sum n g.
Proof. intros n f g. induction n as [| n IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma Sum_minus : forall n f g, Sum n (fun i => f i - g i) = Sum n f - Sum n g.
Proof. intros n f g. induction n as [| n IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma Sum_scale : forall n c f, Sum n (fun i => c * f i) = c * Sum n f.
Proof. intros n c f. induction n as [| n IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma Sum_scale_right : forall n c f, Sum n (fun i => f i * c) = Sum n f * c.
Proof. intros n c f. induction n as [| n IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma Sum_constant : forall n c, Sum n (fun _ => c) = INR n * c.
Proof.
  intros n c. induction n as [| n IH]; [simpl; ring |].
  rewrite S_INR. simpl Sum. rewrite IH. ring.
Qed.

Lemma Sum_swap : forall n m f, Sum n (fun i => Sum m (fun j => f i j)) = Sum m (fun j => Sum n (fun i => f i j)).
Proof.
  intros n m f. induction n as [| n IH]; simpl.
  - symmetry. apply Sum_zero.
  - rewrite IH. symmetry. apply Sum_plus.
Qed.

(** Of a sum of products with [delta i] one term is left. *)
Lemma Sum_delta : forall n i f, (i < n)%nat -> Sum n (fun j => delta i j * f j) = f i.
Proof.
  induction n as [| n IH]; intros i f H; [lia |]. simpl.
  destruct (Nat.eq_dec i n) as [-> | Hne].
  - rewrite delta_same, Sum_all_zero; [ring |].
    intros j Hj. rewrite delta_different; [ring | lia].
  - rewrite IH by lia. rewrite delta_different by assumption. ring.
Qed.

Lemma Sum_le : forall n f g, (forall i, (i < n)%nat -> f i <= g i) -> Sum n f <= Sum n g.
Proof.
  induction n as [| n IH]; intros f g H; simpl; [lra |].
  assert (f n <= g n) by (apply H; lia).
  assert (Sum n f <= Sum n g) by (apply IH; intros i Hi; apply H; lia). lra.
Qed.

Lemma Sum_nonnegative : forall n f, (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= Sum n f.
Proof. intros n f H. rewrite <- (Sum_zero n). apply Sum_le. exact H. Qed.

Lemma Sum_positive : forall n f, (0 < n)%nat -> (forall i, (i < n)%nat -> 0 < f i) -> 0 < Sum n f.
Proof.
  intros n f Hn H. destruct n as [| n]; [lia |]. simpl.
  assert (0 <= Sum n f) by (apply Sum_nonnegative; intros i Hi; left; apply H; lia).
  assert (0 < f n) by (apply H; lia). lra.
Qed.

Lemma Sum_term_le : forall n f i, (i < n)%nat -> (forall j, (j < n)%nat -> 0 <= f j) -> f i <= Sum n f.
Proof.
  induction n as [| n IH]; intros f i Hi H; [lia |]. simpl.
  assert (0 <= f n) by (apply H; lia).
  destruct (Nat.eq_dec i n) as [-> | Hne].
  - assert (0 <= Sum n f) by (apply Sum_nonnegative; intros j Hj; apply H; lia). lra.
  - assert (f i <= Sum n f) by (apply IH; [lia | intros j Hj; apply H; lia]). lra.
Qed.

(** Two different terms of a sum of nonnegative terms. *)
Lemma Sum_two_terms_le : forall n f i j, (i < n)%nat -> (j < n)%nat -> i <> j ->
  (forall k, (k < n)%nat -> 0 <= f k) -> f i + f j <= Sum n f.
Proof.
  induction n as [| n IH]; intros f i j Hi Hj Hij H; [lia |]. simpl.
  assert (Hrest : forall k, (k < n)%nat -> 0 <= f k) by (intros k Hk; apply H; lia).
  assert (0 <= f n) by (apply H; lia).
  destruct (Nat.eq_dec i n) as [-> | Hin].
  - assert (f j <= Sum n f) by (apply Sum_term_le; [lia | assumption]). lra.
  - destruct (Nat.eq_dec j n) as [-> | Hjn].
    + assert (f i <= Sum n f) by (apply Sum_term_le; [lia | assumption]). lra.
    + assert (f i + f j <= Sum n f) by (apply IH; [lia | lia | assumption | assumption]). lra.
Qed.

(** The first [n] and the other [m] terms. *)
Lemma Sum_split : forall n m f, Sum (n + m) f = Sum n f + Sum m (fun i => f (n + i)%nat).
Proof.
  intros n m f. induction m as [| m IH]; simpl.
  - rewrite Nat.add_0_r. ring.
  - replace (n + S m)%nat with (S (n + m)) by lia. simpl. rewrite IH. ring.
Qed.

Lemma Sum_first : forall n f, Sum (S n) f = f O + Sum n (fun i => f (S i)).
Proof. intros n f. induction n as [| n IH]; [simpl; ring |]. simpl Sum in *. rewrite IH. ring. Qed.

(** A sum of nonnegative numbers, one of which is positive. *)
Lemma Sum_positive_one : forall n f i, (i < n)%nat -> 0 < f i -> (forall j, (j < n)%nat -> 0 <= f j) -> 0 < Sum n f.
Proof. intros n f i Hi Hp H. apply Rlt_le_trans with (f i); [assumption | apply Sum_term_le; assumption]. Qed.
