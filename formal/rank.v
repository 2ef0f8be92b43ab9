(** Rank of a matrix with [T] rows and [P] columns, given by its entries [A t j]. *)

From Coq Require Import Reals Lra Lia Arith Classical.
From Formal Require Import sums.
Open Scope R_scope.

(** Some linear combination of the rows that is not trivial is 0. *)
Definition dependent_rows (T P : nat) (A : nat -> nat -> R) : Prop :=
  exists c : nat -> R, (exists t, (t < T)%nat /\ c t <> 0) /\
    forall j, (j < P)%nat -> Sum T (fun t => c t * A t j) = 0.

(** The matrix is a product of one with [r] columns and one with [r] rows. *)
Definition rank_at_most (r T P : nat) (A : nat -> nat -> R) : Prop :=
  exists B C : nat -> nat -> R,
    forall t j, (t < T)%nat -> (j < P)%nat -> A t j = Sum r (fun k => B t k * C k j).

(** Index [k] of all but [p]: k below p, k + 1 from p on. *)
Definition skipping (p k : nat) : nat := if lt_dec k p then k else S k.

Lemma Sum_skipping : forall n p f, (p < S n)%nat -> Sum (S n) f = f p + Sum n (fun k => f (skipping p k)).
Proof.
  induction n as [| n IH]; intros p f H.
  - replace p with O by lia. simpl. ring.
  - destruct (Nat.eq_dec p (S n)) as [-> | Hne].
    + change (Sum (S (S n)) f) with (Sum (S n) f + f (S n)).
      rewrite (Sum_ext (S n) (fun k => f (skipping (S n) k)) f); [ring |].
      intros k Hk. unfold skipping. destruct (lt_dec k (S n)); [reflexivity | lia].
    + change (Sum (S (S n)) f) with (Sum (S n) f + f (S n)).
      rewrite (IH p f) by lia. simpl Sum.
      replace (f (S n)) with (f (skipping p n)); [ring |].
      unfold skipping. destruct (lt_dec n p); [lia | reflexivity].
Qed.

(** [r + 1] vectors in [r] dimensions are dependent. *)
Lemma more_rows_than_columns : forall r (B : nat -> nat -> R),
  exists c : nat -> R, (exists t, (t < S r)%nat /\ c t <> 0) /\
    forall k, (k < r)%nat -> Sum (S r) (fun t => c t * B t k) = 0.
Proof.
  induction r as [| r IH]; intro B.
  - exists (fun _ => 1). split; [exists O; split; [lia | lra] | intros k Hk; lia].
  - destruct (classic (exists p, (p < S (S r))%nat /\ B p r <> 0)) as [[p [Hp Hpivot]] | Hnone].
    + destruct (IH (fun t k => B (skipping p t) k - B (skipping p t) r / B p r * B p k)) as [c [[t [Ht Hc]] Hsum]].
      set (rest := Sum (S r) (fun t => c t * B (skipping p t) r)).
      pose (C := fun t : nat => if lt_dec t p then c t else if Nat.eq_dec t p then - rest / B p r else c (pred t)).
      exists C.
      assert (HCp : C p = - rest / B p r).
      { unfold C. destruct (lt_dec p p); [lia |]. destruct (Nat.eq_dec p p); [reflexivity | lia]. }
      assert (HCs : forall k, C (skipping p k) = c k).
      { intro k. unfold C, skipping. destruct (lt_dec k p).
        - destruct (lt_dec k p); [reflexivity | lia].
        - destruct (lt_dec (S k) p); [lia |]. destruct (Nat.eq_dec (S k) p); [lia | reflexivity]. }
      split.
      * exists (skipping p t). split.
        -- unfold skipping. destruct (lt_dec t p); lia.
        -- rewrite HCs. assumption.
      * intros k Hk. rewrite (Sum_skipping (S r) p) by assumption. rewrite HCp.
        rewrite (Sum_ext (S r) _ (fun t => c t * B (skipping p t) k)) by (intros; rewrite HCs; reflexivity).
        destruct (Nat.eq_dec k r) as [-> | Hkr].
        -- fold rest. field. assumption.
        -- specialize (Hsum k ltac:(lia)).
           assert (E : Sum (S r) (fun t => c t * B (skipping p t) k) = rest / B p r * B p k).
           { rewrite (Sum_ext _ _ (fun t => c t * B (skipping p t) k - c t * B (skipping p t) r * (B p k / B p r)))
               in Hsum by (intros; field; assumption).
             rewrite Sum_minus, Sum_scale_right in Hsum. fold rest in Hsum.
             apply Rminus_diag_uniq in Hsum. rewrite Hsum. field. assumption. }
           rewrite E. field. assumption.
    + destruct (IH B) as [c [[t [Ht Hc]] Hsum]].
      exists (fun t => if Nat.eq_dec t (S r) then 0 else c t). split.
      * exists t. split; [lia |]. destruct (Nat.eq_dec t (S r)); [lia | assumption].
      * intros k Hk. destruct (Nat.eq_dec k r) as [-> | Hkr].
        -- apply Sum_all_zero. intros i Hi.
           replace (B i r) with 0; [ring |].
           symmetry. apply NNPP. intro Hb. apply Hnone. exists i. auto.
        -- change (Sum (S r) (fun t => (if Nat.eq_dec t (S r) then 0 else c t) * B t k) +
                   (if Nat.eq_dec (S r) (S r) then 0 else c (S r)) * B (S r) k = 0).
           destruct (Nat.eq_dec (S r) (S r)); [| lia].
           rewrite (Sum_ext (S r) _ (fun t => c t * B t k)).
           ++ rewrite (Hsum k) by lia. ring.
           ++ intros i Hi. destruct (Nat.eq_dec i (S r)); [lia | reflexivity].
Qed.

(** More rows than the rank are dependent. *)
(* Answers: what rank means, in both directions. *)
Theorem rank_at_most_dependent : forall r T P A, (r < T)%nat -> rank_at_most r T P A -> dependent_rows T P A.
Proof.
  intros r T P A Hr [B [C HBC]].
  destruct (more_rows_than_columns r B) as [c [[t [Ht Hc]] Hsum]].
  exists (fun t => if lt_dec t (S r) then c t else 0). split.
  - exists t. split; [lia |]. destruct (lt_dec t (S r)); [assumption | lia].
  - intros j Hj. replace T with (S r + (T - S r))%nat by lia. rewrite Sum_split.
    rewrite (Sum_all_zero (T - S r)).
    2: { intros i Hi. destruct (lt_dec (S r + i) (S r)); [lia | ring]. }
    rewrite (Sum_ext (S r) _ (fun t => Sum r (fun k => c t * B t k * C k j))).
    2: { intros i Hi. destruct (lt_dec i (S r)); [| lia]. rewrite HBC by lia.
         rewrite <- Sum_scale. apply Sum_ext. intros; ring. }
    rewrite Sum_swap, (Sum_all_zero r); [ring |].
    intros k Hk. rewrite Sum_scale_right, Hsum by assumption. ring.
Qed.

(** Dependent rows have a rank below their number. *)
(* Answers: what rank means, in both directions. *)
Theorem dependent_rank : forall T P A, dependent_rows (S T) P A -> rank_at_most T (S T) P A.
Proof.
  intros T P A [c [[p [Hp Hc]] Hsum]].
  exists (fun t k => if Nat.eq_dec t p then - c (skipping p k) / c p else delta t (skipping p k)).
  exists (fun k j => A (skipping p k) j).
  intros t j Ht Hj. destruct (Nat.eq_dec t p) as [-> | Hne].
  - specialize (Hsum j Hj). rewrite (Sum_skipping T p) in Hsum by assumption.
    rewrite (Sum_ext T _ (fun k => - / c p * (c (skipping p k) * A (skipping p k) j)))
      by (intros; field; assumption).
    rewrite Sum_scale. set (z := Sum T _) in *.
    apply (Rmult_eq_reg_l (c p)); [| assumption].
    replace (c p * (- / c p * z)) with (- z) by (field; assumption). lra.
  - assert (E : Sum (S T) (fun k => delta t k * A k j) = A t j)
      by (apply (Sum_delta (S T) t (fun k => A k j)); assumption).
    rewrite (Sum_skipping T p) in E by assumption. rewrite delta_different in E by assumption.
    rewrite <- E. ring.
Qed.

Lemma rank_at_most_more : forall r r' T P A, (r <= r')%nat -> rank_at_most r T P A -> rank_at_most r' T P A.
Proof.
  intros r r' T P A H [B [C HBC]].
  exists (fun t k => if lt_dec k r then B t k else 0), C. intros t j Ht Hj.
  replace r' with (r + (r' - r))%nat by lia. rewrite Sum_split.
  rewrite (Sum_all_zero (r' - r)).
  2: { intros i Hi. destruct (lt_dec (r + i) r); [lia | ring]. }
  rewrite (HBC t j Ht Hj), Rplus_0_r. apply Sum_ext. intros k Hk. destruct (lt_dec k r); [reflexivity | lia].
Qed.

(** The definition says what it should: the unit matrix has no rank below its size. *)
Lemma unit_matrix_rank : forall r n, (r < n)%nat -> ~ rank_at_most r n n delta.
Proof.
  intros r n Hr H. destruct (rank_at_most_dependent r n n delta Hr H) as [c [[t [Ht Hc]] Hsum]].
  apply Hc. rewrite <- (Sum_delta n t c Ht), <- (Hsum t Ht).
  apply Sum_ext. intros i Hi. rewrite delta_sym. ring.
Qed.
