(** The checker of a whole model, and its soundness: what it returns is what every run returns. *)

From Coq Require Import Reals List ZArith Permutation Lra Lia Bool.
From Flocq Require Import Core.
From Float32 Require Import semantics exact_sums checker softmax.
Import ListNotations.
Open Scope R_scope.

Section Network.

Variable f : format.
Hypothesis f_usable : usable f.
Variable far : Z.
Hypothesis far_held : (1 <= far)%Z /\ held f (- IZR far).
Variable k : Z.
Hypothesis k_fits : scale_fits f k.
Variable c : constants.
Hypothesis c_right : c = constants_of f far k.
Variable exponential : R -> num -> Prop.
Hypothesis exponential_usual : usual far exponential.

Notation number := (number k).
Notation real := (real k).
Notation stands := (stands k).
Notation sum_z := (sum_z f k c).
Notation relu_z := (relu_z f k c).

Lemma one_is : one c = (2 ^ k)%Z. Proof. rewrite c_right. reflexivity. Qed.
Lemma distance_is : distance c = Z.shiftl far k.
Proof. rewrite c_right. cbn [distance constants_of]. rewrite Z.shiftl_mul_pow2; [reflexivity | apply k_fits]. Qed.

(** *** What has been computed before *)

Fixpoint same (a b : list Z) : bool :=
  match a, b with [], [] => true | x :: a, y :: b => (x =? y)%Z && same a b | _, _ => false end.

Lemma same_equal : forall a b, same a b = true -> a = b.
Proof.
  induction a as [| x a IH]; intros [| y b] H; simpl in H; try discriminate; [reflexivity |].
  apply andb_prop in H. destruct H as (E & H). apply Z.eqb_eq in E. f_equal; [exact E | apply IH, H].
Qed.

(** [all step], which looks whether a row equals the one before. *)
Fixpoint all_rows (step : list Z -> option (list Z)) (before : option (list Z * list Z)) (l : list (list Z)) : option (list (list Z)) :=
  match l with
  | [] => Some []
  | a :: l =>
    match (match before with Some (a', b) => if same a' a then Some b else step a | None => step a end) with
    | None => None
    | Some b => match all_rows step (Some (a, b)) l with None => None | Some m => Some (b :: m) end
    end
  end.

Lemma all_rows_spec : forall step l before, (forall a b, before = Some (a, b) -> step a = Some b) -> all_rows step before l = all step l.
Proof.
  intros step l. induction l as [| a l IH]; intros before H; simpl; [reflexivity |].
  assert (E : (match before with Some (a', b) => if same a' a then Some b else step a | None => step a end) = step a).
  { destruct before as [(a', b) |]; [| reflexivity]. destruct (same a' a) eqn:S; [| reflexivity].
    rewrite <- (same_equal _ _ S). symmetry. apply H. reflexivity. }
  rewrite E. destruct (step a) as [b |] eqn:F; [| reflexivity]. rewrite IH; [reflexivity |].
  intros a' b' X. inversion X; subst. exact F.
Qed.

Lemma all_ext : forall A B (step g : A -> option B) l, (forall a, step a = g a) -> all step l = all g l.
Proof. intros A B step g l H. induction l as [| a l IH]; simpl; [reflexivity |]. rewrite H, IH. reflexivity. Qed.

(** *** Layers *)

Fixpoint products (x w : list Z) : list Z :=
  match x, w with a :: x, b :: w => (a * b)%Z :: products x w | _, _ => [] end.

Lemma products_stand : forall x w, Forall2 stands (combine (map number x) (map number w)) (products x w).
Proof.
  induction x as [| a x IH]; intros [| b w]; simpl; constructor; [| apply IH].
  split; [exact I |]. apply (real_product k).
Qed.

Lemma given_stand : forall l, Forall2 stands (map given (map number l)) (map (fun z => Z.shiftl z k) l).
Proof.
  induction l as [| a l IH]; simpl; constructor; [| exact IH]. split; [exact I |]. cbn [term given number].
  rewrite Rmult_1_r. apply (real_shifted f k k_fits).
Qed.

(** The terms of a neuron. *)
Definition terms (x : list Z) (n : neuron * list Z) : list Z :=
  (products x (reads (fst n)) ++ map (fun z => Z.shiftl z k) (shift (fst n) ++ snd n)).

(** The same without making a list: positive and negative products added to [p] and [n]. *)
Definition add_term (t p n : Z) : Z * Z :=
  match t with Z0 => (p, n) | Zpos q => (p + Zpos q, n) | Zneg q => (p, n + Zpos q) end%Z.

Fixpoint add_products (x w : list Z) (p n : Z) : Z * Z :=
  match x, w with
  | a :: x, b :: w => let (p, n) := add_term (a * b)%Z p n in add_products x w p n
  | _, _ => (p, n)
  end.

Fixpoint add_given (l : list Z) (p n : Z) : Z * Z :=
  match l with [] => (p, n) | a :: l => let (p, n) := add_term (Z.shiftl a k) p n in add_given l p n end.

(** A neuron, behind ReLU or not. *)
Definition neuron_z (behind : bool) (x : list Z) (n : neuron * list Z) : option Z :=
  let (p, m) := add_products x (reads (fst n)) 0 0 in
  let (p, m) := add_given (shift (fst n)) p m in
  let (p, m) := add_given (snd n) p m in
  let v := Z.shiftr (p - m) k in
  if ((p <=? limit c) && (m <=? limit c) && (Z.shiftl v k =? p - m))%Z then Some (if behind then Z.max v 0 else v)
  else if behind then relu_z (terms x n) else sum_z (terms x n).

Lemma add_term_is : forall t l p n, let (p', n') := add_term t p n in
  (p' + fst (parts l) = p + fst (parts (t :: l)) /\ n' + snd (parts l) = n + snd (parts (t :: l)))%Z.
Proof. intros t l p n. cbn [parts]. destruct (parts l) as (a, b), t; cbn [add_term fst snd]; lia. Qed.

Lemma add_products_is : forall x w l p n, let (p', n') := add_products x w p n in
  (p' + fst (parts l) = p + fst (parts (products x w ++ l)) /\ n' + snd (parts l) = n + snd (parts (products x w ++ l)))%Z.
Proof.
  induction x as [| a x IH]; intros [| b w] l p n; cbn [add_products products app]; try lia.
  pose proof (add_term_is (a * b)%Z (products x w ++ l) p n) as T. destruct (add_term (a * b)%Z p n) as (p1, n1).
  specialize (IH w l p1 n1). destruct (add_products x w p1 n1) as (p2, n2). lia.
Qed.

Lemma add_given_is : forall g l p n, let (p', n') := add_given g p n in
  (p' + fst (parts l) = p + fst (parts (map (fun z => Z.shiftl z k) g ++ l)) /\
   n' + snd (parts l) = n + snd (parts (map (fun z => Z.shiftl z k) g ++ l)))%Z.
Proof.
  induction g as [| a g IH]; intros l p n; cbn [add_given map app]; try lia.
  pose proof (add_term_is (Z.shiftl a k) (map (fun z => Z.shiftl z k) g ++ l) p n) as T. destruct (add_term (Z.shiftl a k) p n) as (p1, n1).
  specialize (IH l p1 n1). destruct (add_given g p1 n1) as (p2, n2). lia.
Qed.

Lemma neuron_z_is : forall behind x n, neuron_z behind x n = if behind then relu_z (terms x n) else sum_z (terms x n).
Proof.
  intros behind x n. unfold neuron_z.
  pose proof (add_products_is x (reads (fst n)) (map (fun z => Z.shiftl z k) (shift (fst n) ++ snd n)) 0 0) as A.
  destruct (add_products x (reads (fst n)) 0 0) as (p1, m1).
  pose proof (add_given_is (shift (fst n)) (map (fun z => Z.shiftl z k) (snd n)) p1 m1) as B. rewrite map_app in A.
  destruct (add_given (shift (fst n)) p1 m1) as (p2, m2).
  pose proof (add_given_is (snd n) [] p2 m2) as C. rewrite app_nil_r in C. destruct (add_given (snd n) p2 m2) as (p, m).
  assert (P : parts (terms x n) = (p, m)).
  { unfold terms. rewrite map_app. cbn [parts fst snd] in C. destruct (parts (products x (reads (fst n)) ++ _)) as (u, v). cbn [fst snd] in *. f_equal; lia. }
  clear A B C. destruct (_ && _)%bool eqn:E; [| reflexivity]. rewrite !andb_true_iff, Z.eqb_eq in E. destruct E as (L & V).
  assert (S : sum_z (terms x n) = Some (Z.shiftr (p - m) k)).
  { unfold checker.sum_z. rewrite P. unfold fits_in. rewrite (proj2 (andb_true_iff _ _) L). cbv zeta. rewrite V, Z.eqb_refl. reflexivity. }
  destruct behind; [unfold checker.relu_z |]; rewrite S; reflexivity.
Qed.

Definition linear_z (behind : bool) (ns : list neuron) (also : list (list Z)) (x : list Z) : option (list Z) :=
  all (neuron_z behind x) (combine ns also).

Lemma terms_stand : forall x n, Forall2 stands
  (combine (map number x) (map number (reads (fst n))) ++ map given (map number (shift (fst n)) ++ map number (snd n)))
  (terms x n).
Proof. intros x n. apply Forall2_app; [apply products_stand |]. rewrite <- map_app. apply given_stand. Qed.

Lemma linear_sound : forall ns also x y ys, linear_z false ns also x = Some y ->
  linear_run f k ns (map (map number) also) (map number x) ys -> ys = map number y.
Proof.
  intros ns also x y ys H R. unfold linear_run in R. rewrite combine_map_r in R. apply Forall2_pre in R.
  refine (all_run _ _ _ _ _ number _ _ _ H _ R). intros n v w _ S W. rewrite neuron_z_is in S. unfold neuron_run in W. cbn [fst snd] in W.
  exact (sum_z_sound f f_usable k k_fits far c c_right _ _ _ _ (terms_stand x n) S W).
Qed.

Lemma linear_relu_sound : forall ns also x y hs gs, linear_z true ns also x = Some y ->
  linear_run f k ns (map (map number) also) (map number x) hs -> Forall2 relu hs gs -> gs = map number y.
Proof.
  intros ns also x y hs gs H R G. unfold linear_run in R. rewrite combine_map_r in R. apply Forall2_pre in R.
  pose proof (compose _ _ _ _ _ _ _ _ R G) as C. clear R G.
  refine (all_run _ _ _ _ _ number _ _ _ H _ C). intros n v w _ S (h & W & G). rewrite neuron_z_is in S. unfold neuron_run in W. cbn [fst snd] in W.
  exact (relu_z_sound f f_usable k k_fits far c c_right _ _ _ _ _ (terms_stand x n) S W G).
Qed.

Definition alone_z (ns : list neuron) : list (list Z) := map (fun _ => []) ns.
Definition skipping_z (skip : bool) (ns : list neuron) (x : list Z) : list (list Z) :=
  if skip then map (fun a => [a]) x else alone_z ns.

Lemma alone_number : forall ns, alone ns = map (map number) (alone_z ns).
Proof. intro ns. unfold alone, alone_z. rewrite map_map. reflexivity. Qed.

Lemma skipping_number : forall skip ns x, skipping skip ns (map number x) = map (map number) (skipping_z skip ns x).
Proof.
  intros [|] ns x; unfold skipping, skipping_z; [rewrite !map_map; reflexivity | apply alone_number].
Qed.

Definition feed_forward_z (W_in W_out : list neuron) (skip : bool) (x : list Z) : option (list Z) :=
  match linear_z true W_in (alone_z W_in) x with
  | Some h => linear_z false W_out (skipping_z skip W_out x) h
  | None => None
  end.

Lemma feed_forward_sound : forall W_in W_out skip x y ys, feed_forward_z W_in W_out skip x = Some y ->
  feed_forward_run f k W_in W_out skip (map number x) ys -> ys = map number y.
Proof.
  intros W_in W_out skip x y ys H (h & g & R1 & R2 & R3). unfold feed_forward_z in H.
  destruct (linear_z true W_in (alone_z W_in) x) as [hz |] eqn:E; [| discriminate].
  rewrite alone_number in R1. rewrite (linear_relu_sound _ _ _ _ _ _ E R1 R2) in R3.
  rewrite skipping_number in R3. exact (linear_sound _ _ _ _ _ H R3).
Qed.

(** *** Heads *)

Definition largest (l : list Z) : Z := fold_right Z.max (hd 0%Z l) l.

Lemma largest_spec : forall l, l <> [] -> In (largest l) l /\ forall a, In a l -> (a <= largest l)%Z.
Proof.
  intros [| z l] H; [contradiction |]. unfold largest. cbn [hd]. clear H.
  assert (X : forall m, (In (fold_right Z.max z m) m \/ fold_right Z.max z m = z) /\ (forall a, In a m -> (a <= fold_right Z.max z m)%Z)).
  { induction m as [| b m ([I | I] & L)]; cbn [fold_right].
    - split; [right; reflexivity | intros a []].
    - split.
      + left. destruct (Z.max_spec b (fold_right Z.max z m)) as [(_ & ->) | (_ & ->)]; [right; exact I | left; reflexivity].
      + intros a [-> | A]; [lia | specialize (L a A); lia].
    - split.
      + destruct (Z.max_spec b (fold_right Z.max z m)) as [(_ & ->) | (_ & ->)]; [right; exact I | left; left; reflexivity].
      + intros a [-> | A]; [lia | specialize (L a A); lia]. }
  destruct (X (z :: l)) as ([I | I] & L); (split; [| exact L]); [exact I | rewrite I; left; reflexivity].
Qed.

(** The numerators of a softmax: 1 for the largest scores; the others are at least [far] smaller, so 0. *)
Definition numerator (m a : Z) : option Z :=
  if (a =? m)%Z then Some (one c)
  else if ((a + distance c <=? m) && (m - a <=? reach c))%Z then Some 0%Z else None.

Definition weight (w e : Z) : Z := if (e =? 0)%Z then 0%Z else w.

Definition column_z (vs : list (list Z)) (i : nat) : list Z := map (fun v => nth i v 0%Z) vs.

(** The average of a column of values, by both ways: weights [W], or numerators [e] and division by [z]. *)
Definition average (e W : list Z) (z : Z) (values : list Z) : option Z :=
  match sum_z (products W values), sum_z (products e values) with
  | Some o, Some t => if (Z.shiftl t k =? o * z)%Z then Some o else None
  | _, _ => None
  end.

(** Numerators, weights and the sum of the numerators. *)
Definition pattern : Type := list Z * list Z * Z.

Definition pattern_z (ks : list (list Z)) (q : list Z) : option pattern :=
  match all (fun b => sum_z (products q b)) ks with
  | None => None
  | Some s =>
    match all (numerator (largest s)) s with
    | None => None
    | Some e =>
      match sum_z (map (fun a => Z.shiftl a k) e) with
      | None => None
      | Some z =>
        let w := Z.div (one c * one c) z in
        if ((0 <? z) && (w * z =? one c * one c) && (w <=? limit c) && negb (length s =? 0)%nat)%Z
        then Some (e, map (weight w) e, z) else None
      end
    end
  end.

Definition head_z (ks : list (list Z)) (columns : list (list Z)) (q : list Z) : option (list Z) :=
  match pattern_z ks q with Some (e, W, z) => all (average e W z) columns | None => None end.

Lemma real_0 : real 0 = 0. Proof. unfold checker.real. ring. Qed.

Lemma real_IZR : forall z, real (Z.shiftl z k) = IZR z.
Proof.
  intro z. pose proof (k_pos f k k_fits). unfold checker.real. rewrite Z.shiftl_mul_pow2, mult_IZR, <- pow2_IZR, Rmult_assoc, <- bpow_plus by lia.
  replace (k + - k)%Z with 0%Z by ring. simpl. ring.
Qed.

Lemma real_one : real (one c) = 1.
Proof. rewrite one_is. rewrite <- (real_IZR 1), Z.shiftl_1_l. reflexivity. Qed.

Lemma real_le : forall a b, (a <= b)%Z -> real a <= real b.
Proof. intros a b H. apply Rmult_le_compat_r; [apply bpow_ge_0 | apply IZR_le, H]. Qed.

Lemma real_inj : forall a b, real a = real b -> a = b.
Proof. intros a b H. apply Rmult_eq_reg_r in H; [apply eq_IZR, H | apply Rgt_not_eq, bpow_gt_0]. Qed.

Lemma real_le_inv : forall a b, real a <= real b -> (a <= b)%Z.
Proof. intros a b H. apply Rmult_le_reg_r in H; [apply le_IZR, H | apply bpow_gt_0]. Qed.

Lemma real_small : forall a e, (0 <= e)%Z -> (Z.abs a <= 2 ^ e)%Z -> Rabs (real a) <= pow2 e.
Proof.
  intros a e E H. unfold checker.real. rewrite Rabs_mult, (Rabs_pos_eq (pow2 (- k))), <- abs_IZR by apply bpow_ge_0.
  apply Rle_trans with (IZR (2 ^ e) * pow2 0).
  - apply Rmult_le_compat; [apply IZR_le; lia | apply bpow_ge_0 | apply IZR_le, H | apply bpow_le; pose proof (k_pos f k k_fits); lia].
  - rewrite <- pow2_IZR by exact E. simpl. lra.
Qed.

(** The other scores are far below the largest one. *)
Lemma numerator_spec : forall m a e, numerator m a = Some e ->
  (a = m /\ e = one c) \/ (a <> m /\ e = 0%Z /\ real a <= real m - IZR far /\ real m - real a < pow2 (safe f)).
Proof.
  intros m a e H. unfold numerator in H. destruct (Z.eqb_spec a m) as [-> | N]; [inversion H; auto |]. right.
  destruct (_ && _)%Z eqn:C in H; [| discriminate]. inversion H; subst e. clear H. apply andb_prop in C. rewrite !Z.leb_le in C.
  destruct C as (C1 & C2). rewrite distance_is in C1. apply real_le in C1 as C1'. split; [exact N |]. split; [reflexivity |]. split.
  - unfold checker.real in C1'. rewrite plus_IZR, Rmult_plus_distr_r in C1'.
    change (IZR (Z.shiftl far k) * pow2 (- k)) with (real (Z.shiftl far k)) in C1'. rewrite real_IZR in C1'.
    unfold checker.real. lra.
  - rewrite c_right in C2. cbn [reach constants_of] in C2. destruct f_usable as (P & Room & _). destruct far_held as (F & _).
    assert (S : (0 <= Z.shiftl far k)%Z) by (apply Z.shiftl_nonneg; lia).
    assert (D : (Z.abs (m - a) <= 2 ^ (safe f - 1))%Z) by lia.
    apply real_small in D; [| lia]. replace (real m - real a) with (real (m - a)) by (unfold checker.real; rewrite minus_IZR; ring).
    pose proof (Rle_abs (real (m - a))). apply Rle_lt_trans with (pow2 (safe f - 1)); [lra | apply bpow_lt; lia].
Qed.

Lemma maximum_sound : forall s m, s <> [] -> maximum (map number s) m -> m = number (largest s).
Proof.
  intros s m N [H | (r & -> & I & L)].
  - apply in_map_iff in H. destruct H as (x & H & _). discriminate.
  - destruct (largest_spec s N) as (I' & L'). apply in_map_iff in I. destruct I as (x & E & I). rewrite <- E. f_equal.
    inversion E as [E']. apply Z.le_antisymm; [apply L', I |]. apply real_le_inv. unfold checker.real at 2. rewrite E'.
    apply L. apply in_map_iff. exists (largest s). split; [reflexivity | exact I'].
Qed.

(** What the exponential returns of a difference. *)
Lemma numerator_sound : forall m a e d y, numerator m a = Some e -> sub f (number a) (number m) d -> expo exponential d y ->
  y = number e.
Proof.
  intros m a e d y H S X. destruct (numerator_spec m a e H) as [(-> & ->) | (_ & -> & B & L)].
  - rewrite (factor_top f exponential far exponential_usual (real m) d y S X). rewrite (number_real k). f_equal. symmetry. apply real_one.
  - rewrite (factor_far f f_usable exponential far far_held exponential_usual (real m) (real a) d y B L S X).
    rewrite (number_real k), real_0. reflexivity.
Qed.

(** Of numbers o, z, w with w z = 1, both quotients x / z = o are exact. *)
Notation returned := (returned f).
Lemma divided : forall x z w o y, returned (real o) -> returned (real w) -> (0 < z)%Z -> real w * real z = 1 ->
  real x = real o * real z -> quotient f (number x) (number z) y -> y = number o.
Proof.
  intros x z w o y (F & B & T) (Fw & Bw & Tw) P W E D.
  assert (Z : 0 < real z) by (apply Rmult_lt_0_compat; [apply IZR_lt, P | apply bpow_gt_0]).
  destruct D as [D | (r & D & M)].
  - simpl in D. fold (real x) (real z) in D. specialize (D ltac:(lra)). rewrite E in D.
    replace (real o * real z / real z) with (real o) in D by (field; lra). exact (rounds_exact f _ _ F B T D).
  - simpl in D. fold (real z) in D. specialize (D ltac:(lra)).
    replace (1 / real z) with (real w) in D by (apply Rmult_eq_reg_r with (real z); [rewrite W; field |]; lra).
    rewrite (rounds_exact f _ _ Fw Bw Tw D) in M. simpl in M. fold (real x) in M.
    replace (real x * real w) with (real o) in M by (rewrite E, Rmult_assoc, (Rmult_comm (real z)), W; ring).
    exact (rounds_exact f _ _ F B T M).
Qed.

Lemma all_in : forall A B (g : A -> option B) l m b, all g l = Some m -> In b m -> exists a, In a l /\ g a = Some b.
Proof.
  induction l as [| a l IH]; intros m b H I; simpl in H.
  - inversion H; subst. destruct I.
  - destruct (g a) as [b' |] eqn:E; [| discriminate]. destruct (all g l) as [m' |]; [| discriminate].
    inversion H; subst m. destruct I as [<- | I].
    + exists a. split; [left; reflexivity | exact E].
    + destruct (IH m' b eq_refl I) as (x & X & Y). exists x. split; [right; exact X | exact Y].
Qed.

Lemma all_in_l : forall A B (g : A -> option B) l m a, all g l = Some m -> In a l -> exists b, g a = Some b.
Proof.
  induction l as [| x l IH]; intros m a H I; simpl in H; [destruct I |].
  destruct (g x) as [b |] eqn:E; [| discriminate]. destruct (all g l) as [m' |] eqn:Em; [| discriminate].
  destruct I as [<- | I]; [exists b; exact E | exact (IH m' a eq_refl I)].
Qed.

Lemma all_length : forall A B (g : A -> option B) l m, all g l = Some m -> length m = length l.
Proof.
  induction l as [| x l IH]; intros m H; simpl in H; [inversion H; reflexivity |].
  destruct (g x); [| discriminate]. destruct (all g l) as [m' |]; [| discriminate]. inversion H; subst. simpl. f_equal. apply IH. reflexivity.
Qed.

Lemma Forall2_map_in : forall (e : list Z) (g : Z -> Z) (R : num -> num -> Prop) y,
  (forall a b, In a e -> R (number a) b -> b = number (g a)) -> Forall2 R (map number e) y -> y = map number (map g e).
Proof.
  induction e as [| a e IH]; intros g R y H F; inversion F; subst; [reflexivity |]. simpl. f_equal.
  - apply H; [left; reflexivity | assumption].
  - apply (IH g R); [| assumption]. intros. apply H; [right |]; assumption.
Qed.

(** All rows of values have [n] entries. *)
Definition wide (n : nat) (vs : list (list Z)) : bool := forallb (fun v => length v =? n)%nat vs.

(** Values whose sum over all positions does not overflow, whatever their weights from 0 to 1. *)
Definition room (vs : list (list Z)) : Z := (safe f - 1 - Z.log2_up (Z.of_nat (length vs)))%Z.
Definition bounded (vs : list (list Z)) : bool :=
  let bound := (2 ^ room vs)%Z in
  ((0 <=? room vs) && (Z.of_nat (length vs) <=? limit c) && forallb (forallb (fun v => Z.abs v <=? bound)) vs)%Z.

Lemma column_number : forall vs i n, wide n vs = true -> (i < n)%nat -> column (map (map number) vs) i = map number (column_z vs i).
Proof.
  intros vs i n W L. unfold column, column_z. rewrite !map_map. apply map_ext_in. intros v V.
  unfold wide in W. rewrite forallb_forall in W. specialize (W v V). apply Nat.eqb_eq in W.
  rewrite (nth_indep (map number v) None (number 0)) by (rewrite map_length; lia). apply map_nth.
Qed.

Definition columns_z (n : nat) (vs : list (list Z)) : list (list Z) := map (column_z vs) (seq 0 n).

Lemma columns_number : forall vs n, wide n vs = true -> columns n (map (map number) vs) = map (map number) (columns_z n vs).
Proof.
  intros vs n W. unfold columns, columns_z. rewrite map_map. apply map_ext_in. intros i C. apply in_seq in C.
  apply (column_number vs i n W). lia.
Qed.

(** *** The positions of a softmax, as softmax.v has them *)

Definition position_of (x : Z * list Z) : position := (real (fst x), 1 :: map real (snd x)).

Lemma positions_read : forall s vs, combine (map number s) (map (cons (Some 1)) (map (map number) vs)) = map as_read (map position_of (combine s vs)).
Proof.
  induction s as [| a s IH]; intros [| v vs]; simpl; [reflexivity.. |]. rewrite IH. f_equal. unfold as_read, position_of. cbn [fst snd map].
  rewrite map_map. reflexivity.
Qed.

(** What each position adds to a sum is the product of its numerator. *)
Lemma shares : forall m s e, all (numerator m) s = Some e -> forall vs i (g : list Z -> R), length vs = length s ->
  (forall v, In v vs -> nth i (1 :: map real v) 0 = g v) ->
  Forall2 (fun x t => finite t /\ term t = share (real m) i x) (map position_of (combine s vs))
    (combine (map number e) (map (fun v => Some (g v)) vs)).
Proof.
  intros m s. induction s as [| a s IH]; intros e H vs i g L G; simpl in H.
  - inversion H; subst e. destruct vs; [constructor | discriminate].
  - destruct (numerator m a) as [b |] eqn:E; [| discriminate]. destruct (all (numerator m) s) as [e' |]; [| discriminate].
    inversion H; subst e. destruct vs as [| v vs]; [discriminate |]. cbn [combine map]. constructor.
    + split; [exact I |]. cbn [term semantics.number]. fold (real b). unfold share, position_of. cbn [fst snd]. rewrite (G v (or_introl eq_refl)).
      destruct (numerator_spec m a b E) as [(-> & ->) | (N & -> & _)].
      * destruct (Req_EM_T (real m) (real m)) as [_ | D]; [| contradiction D; reflexivity]. rewrite real_one. ring.
      * destruct (Req_EM_T (real a) (real m)) as [D | _]; [apply real_inj in D; contradiction |]. rewrite real_0. ring.
    + apply (IH e' eq_refl); [simpl in L; congruence |]. intros w W. apply G. right. exact W.
Qed.

Lemma shares_sum : forall M i K ts, Forall2 (fun x t => finite t /\ term t = share M i x) K ts ->
  total exact ts = sum_of (share M i) K /\ total above ts = sum_of (fun x => above (share M i x)) K /\
  total below ts = sum_of (fun x => below (share M i x)) K.
Proof.
  intros M i K ts H. induction H as [| x t K ts (_ & E) _ (A & B & C)]; simpl; [auto |]. rewrite A, B, C, E. auto.
Qed.

Lemma shares_fit : forall M i K ts l, Forall2 (fun x t => finite t /\ term t = share M i x) K ts -> Forall2 stands ts l ->
  forall v, sum_z l = Some v -> fitting_shares f M K i /\ sum_of (share M i) K = real v.
Proof.
  intros M i K ts l H S v E. destruct (sum_z_value f k k_fits c l v E) as (F & V).
  destruct (fits_in_sound f f_usable k k_fits far c c_right ts l S F) as (e & U & Fi). destruct (shares_sum M i K ts H) as (T & A & B). split.
  - exists e. split; [exact U |]. destruct Fi as (_ & Z & P & N). rewrite <- A, <- B. split; [| split; assumption].
    clear - H Z. induction H as [| x t K ts (_ & E) _ IH]; constructor; inversion Z as [| ? ? (z & Ez) Z']; subst.
    + exists z. rewrite <- E. exact Ez.
    + apply IH, Z'.
  - rewrite <- T, (stands_total f k ts l S). exact V.
Qed.

(** Softmax and average, from scores and values on. *)
Lemma head_sound : forall ks vs n q o s ys, head_z ks (columns_z n vs) q = Some o -> length vs = length ks ->
  wide n vs = true -> bounded vs = true ->
  Forall2 (fun b a => sum_run f (combine (map number q) b) a) (map (map number) ks) s ->
  softmax_run f exponential n s (map (map number) vs) ys -> ys = map number o.
Proof.
  intros ks vs n q o s ys H Lv Wi Bo Hs (positions & m & z & t & Pe & Pr & Ho). unfold head_z, pattern_z in H.
  destruct (all (fun b => sum_z (products q b)) ks) as [s' |] eqn:Es; [| discriminate].
  destruct (all (numerator (largest s')) s') as [e' |] eqn:Ee; [| discriminate].
  destruct (sum_z (map (fun a => Z.shiftl a k) e')) as [z' |] eqn:Ez; [| discriminate].
  set (w := Z.div (one c * one c) z') in H. cbv zeta in H.
  destruct (_ && _)%bool eqn:C in H; [| discriminate].
  rewrite !andb_true_iff, Z.ltb_lt, Z.eqb_eq, Z.leb_le, negb_true_iff, Nat.eqb_neq in C. destruct C as (((Zpos & W) & Wl) & N).
  pose proof (k_pos f k k_fits) as K0. pose proof (p_pos f f_usable) as P2.
  assert (s = map number s') as ->.
  { refine (all_run _ _ _ _ _ number _ _ _ Es _ (Forall2_pre _ _ _ _ _ _ _ Hs)). intros b v y _ S R.
    exact (sum_z_sound f f_usable k k_fits far c c_right _ _ _ _ (products_stand q b) S R). }
  assert (N' : s' <> []) by (intro X; rewrite X in N; apply N; reflexivity).
  assert (Ls : length vs = length s') by (rewrite (all_length _ _ _ _ _ Es); exact Lv).
  destruct (largest_spec s' N') as (Imax & Lmax). set (M := largest s') in *.
  (* the positions *)
  set (K := map position_of (combine s' vs)).
  assert (S0 : fitting_shares f (real M) K 0 /\ sum_of (share (real M) 0) K = real z').
  { apply (shares_fit (real M) 0 K (map given (map number e')) (map (fun a => Z.shiftl a k) e') ); [| apply given_stand | exact Ez].
    replace (map given (map number e')) with (combine (map number e') (map (fun _ : list Z => Some 1) vs)).
    - apply (shares M s' e' Ee vs 0 (fun _ => 1)); [exact Ls | reflexivity].
    - assert (Le : length e' = length vs) by (rewrite (all_length _ _ _ _ _ Ee); congruence). clear - Le. revert vs Le.
      induction e' as [| a e IH]; intros [| v vs] L; try discriminate; [reflexivity |]. simpl. f_equal. apply IH. simpl in L. congruence. }
  assert (Sc : forall i, (i < n)%nat -> exists t', sum_z (products e' (column_z vs i)) = Some t' /\
     fitting_shares f (real M) K (S i) /\ sum_of (share (real M) (S i)) K = real t').
  { intros i I. assert (X : exists x, average e' (map (weight w) e') z' (column_z vs i) = Some x).
    { apply (all_in_l _ _ _ _ _ _ H). apply in_map_iff. exists i. split; [reflexivity | apply in_seq; lia]. }
    destruct X as (x & X). unfold average in X. destruct (sum_z (products (map (weight w) e') (column_z vs i))); [| discriminate].
    destruct (sum_z (products e' (column_z vs i))) as [t' |] eqn:Et; [| discriminate]. exists t'. split; [reflexivity |].
    apply (shares_fit (real M) (S i) K (combine (map number e') (map number (column_z vs i))) (products e' (column_z vs i))); [| apply products_stand | exact Et].
    unfold column_z. rewrite map_map. apply (shares M s' e' Ee vs (S i) (fun v => real (nth i v 0%Z)) Ls). intros v V. cbn [nth].
    rewrite <- real_0. apply map_nth. }
  unfold bounded in Bo. cbv zeta in Bo. rewrite !andb_true_iff, !Z.leb_le in Bo. destruct Bo as ((R0 & Nl) & Bo).
  set (j := room vs) in *.
  assert (G : good f far (real M) (S n) j K).
  { repeat split.
    - apply Forall_forall. intros x X. apply in_map_iff in X. destruct X as ((a, v) & <- & I). unfold apart, position_of. cbn [fst snd].
      pose proof (in_combine_l _ _ _ _ I) as Ia. pose proof (in_combine_r _ _ _ _ I) as Iv. destruct (all_in_l _ _ _ _ _ _ Ee Ia) as (b & Eb).
      unfold wide in Wi. rewrite forallb_forall in Wi, Bo. specialize (Wi v Iv). apply Nat.eqb_eq in Wi. specialize (Bo v Iv). rewrite forallb_forall in Bo.
      pose proof (bpow_gt_0 radix2 (safe f)).
      split; [| split; [| split; [simpl; rewrite map_length, Wi; reflexivity |]]].
      + destruct (numerator_spec M a b Eb) as [(-> & _) | (_ & _ & B & _)]; [left; reflexivity | right; exact B].
      + destruct (numerator_spec M a b Eb) as [(-> & _) | (_ & _ & _ & B)]; [lra | exact B].
      + intros [| i] Hi; cbn [nth].
        * rewrite Rabs_R1. change 1 with (pow2 0). apply bpow_le. exact R0.
        * rewrite <- real_0, map_nth. apply real_small; [exact R0 |]. apply Z.leb_le, Bo, nth_In. lia.
    - intros [| i] Hi; [apply S0 |]. destruct (Sc i ltac:(lia)) as (_ & _ & F & _). exact F.
    - unfold K. rewrite map_length, combine_length, <- Ls, Nat.min_id. rewrite (limit_is f far k c c_right) in Nl || rewrite (limit_is f k far c c_right) in Nl. exact Nl.
    - unfold K. rewrite map_length, combine_length, <- Ls, Nat.min_id, INR_IZR_INZ.
      assert (Lg : (Z.of_nat (length vs) <= 2 ^ Z.log2_up (Z.of_nat (length vs)))%Z).
      { destruct (Z.eq_dec (Z.of_nat (length vs)) 0) as [-> | D]; [simpl; lia |].
        destruct (Z.eq_dec (Z.of_nat (length vs)) 1) as [-> | D1]; [reflexivity |]. apply Z.log2_up_spec. lia. }
      apply Rle_lt_trans with (IZR (2 ^ Z.log2_up (Z.of_nat (length vs))) * pow2 j).
      + apply Rmult_le_compat_r; [apply bpow_ge_0 | apply IZR_le, Lg].
      + rewrite <- pow2_IZR, <- bpow_plus by apply Z.log2_up_nonneg. apply bpow_lt. unfold j, room. lia. }
  assert (T : top (real M) K).
  { apply Exists_exists. destruct (In_nth _ _ 0%Z Imax) as (i & Hi & Ei). exists (position_of (M, nth i vs [])). split; [| reflexivity].
    apply in_map. rewrite <- Ei, <- combine_nth by (symmetry; exact Ls). apply nth_In. rewrite combine_length, Ls, Nat.min_id. exact Hi. }
  rewrite positions_read in Pe. fold K in Pe. apply Permutation_sym in Pe. apply Permutation_map_inv in Pe. destruct Pe as (K' & -> & PK).
  assert (G' : good f far (real M) (S n) j K').
  { destruct G as (A & F & L & B). repeat split.
    - revert A. apply Permutation_Forall. exact PK.
    - intros i Hi. destruct (F i Hi) as (e & U & Z & P & Q). exists e. split; [exact U |].
      rewrite <- !(sum_of_permutation _ _ _ _ PK). split; [revert Z; apply Permutation_Forall; exact PK | split; assumption].
    - rewrite <- (Permutation_length PK). exact L.
    - rewrite <- (Permutation_length PK). exact B. }
  assert (T' : top (real M) K') by (revert T; apply Permutation_Exists; exact PK).
  assert (Lj : (least f <= j)%Z) by (destruct f_usable as (_ & _ & Low); unfold normal in Low; lia).
  destruct (every_part f f_usable exponential far far_held exponential_usual (real M) (S n) j Lj _ _ Pr K' eq_refl G') as (Lt & Is & _).
  destruct (Is T') as (Em & Et). cbn [fst snd] in *. subst m.
  assert (z = number z') as ->.
  { specialize (Et 0%nat ltac:(lia)). cbn [nth] in Et. rewrite Et, <- (sum_of_permutation _ _ _ _ PK). destruct S0 as (_ & ->). reflexivity. }
  assert (Rq : forall e o, (e * 2 ^ k = o * z')%Z -> real e = real o * real z').
  { intros a b X. unfold checker.real. apply (f_equal IZR) in X. rewrite !mult_IZR in X. rewrite <- pow2_IZR in X by lia.
    replace (IZR b * pow2 (- k) * (IZR z' * pow2 (- k))) with ((IZR b * IZR z') * pow2 (- k) * pow2 (- k)) by ring.
    rewrite <- X. replace (IZR a * pow2 k * pow2 (- k) * pow2 (- k)) with (IZR a * pow2 (- k) * (pow2 k * pow2 (- k))) by ring.
    rewrite <- bpow_plus. replace (k + - k)%Z with 0%Z by ring. simpl. ring. }
  assert (Rw : real w * real z' = 1).
  { rewrite <- (Rq (one c) w); [apply real_one |]. rewrite W, one_is. reflexivity. }
  assert (Hw0 : returned (real w)).
  { assert (Wp : (0 <= w)%Z) by (apply Z.div_pos; [rewrite one_is; apply Z.mul_nonneg_nonneg; apply Z.pow_nonneg; lia | exact Zpos]).
    rewrite (limit_is f far k c c_right) in Wl || rewrite (limit_is f k far c c_right) in Wl.
    destruct k_fits as (_ & Low). destruct f_usable as (_ & Room & _).
    assert (Rabs (real w) <= pow2 (precision f + - k)).
    { rewrite Rabs_pos_eq by (rewrite <- real_0; apply real_le; assumption). rewrite bpow_plus.
      apply Rmult_le_compat_r; [apply bpow_ge_0 |]. rewrite pow2_IZR by lia. apply IZR_le, Wl. }
    split; [apply (held_multiple f f_usable); [unfold normal in Low; lia | assumption] |]. split; [| apply multiple_not_tiny; lia].
    eapply Rle_lt_trans; [eassumption |]. apply bpow_lt. lia. }
  destruct Ho as [Ho | (d & e & ws & Hd & He & Hw & Ho)].
  - assert (Ln : length t = n) by exact (eq_add_S _ _ Lt).
    assert (Tn : t = map number (map (fun i => match sum_z (products e' (column_z vs i)) with Some x => x | None => 0%Z end) (seq 0 n))).
    { apply (nth_ext _ _ None None).
      - rewrite !map_length, seq_length. exact Ln.
      - intros i Hi. assert (Hn : (i < n)%nat) by (rewrite <- Ln; exact Hi). destruct (Sc i Hn) as (t' & E1 & _ & E2).
        transitivity (Some (sum_of (share (real M) (S i)) K')); [exact (Et (S i) ltac:(lia)) |].
        rewrite <- (sum_of_permutation _ _ _ _ PK), E2.
        rewrite (nth_indep (map number _) None (number 0)) by (rewrite !map_length, seq_length; exact Hn).
        rewrite map_nth. rewrite (nth_indep _ 0%Z ((fun i => match sum_z (products e' (column_z vs i)) with Some x => x | None => 0%Z end) 0%nat)) by (rewrite map_length, seq_length; exact Hn).
        rewrite (map_nth (fun i => match sum_z (products e' (column_z vs i)) with Some x => x | None => 0%Z end)), seq_nth by exact Hn. simpl. rewrite E1. reflexivity. }
    rewrite Tn in Ho. clear Tn Et Is. rewrite !map_map in Ho. apply Forall2_pre in Ho. unfold columns_z in H.
    assert (H' : all (fun i => average e' (map (weight w) e') z' (column_z vs i)) (seq 0 n) = Some o).
    { clear - H. revert o H. induction (seq 0 n) as [| i l IH]; intros o H; simpl in *; [exact H |].
      destruct (average e' (map (weight w) e') z' (column_z vs i)); [| discriminate].
      destruct (all (average e' (map (weight w) e') z') (map (column_z vs) l)) as [o' |] eqn:E; [| discriminate]. rewrite (IH o' eq_refl). exact H. }
    refine (all_run _ _ _ _ _ number _ _ _ H' _ Ho). intros i v y _ S D. unfold average in S.
    destruct (sum_z (products (map (weight w) e') (column_z vs i))) as [o' |] eqn:E1; [| discriminate].
    destruct (sum_z (products e' (column_z vs i))) as [t' |] eqn:E2; [| discriminate].
    destruct (Z.eqb_spec (Z.shiftl t' k) (o' * z')%Z) as [E |]; [| discriminate]. inversion S; subst v.
    rewrite Z.shiftl_mul_pow2 in E by lia.
    exact (divided t' z' w o' y (sum_z_returned f f_usable k k_fits far c c_right _ _ _ (products_stand (map (weight w) e') _) E1) Hw0 Zpos Rw (Rq _ _ E) D).
  - assert (e = map number e') as ->.
    { apply Forall2_pre in Hd. refine (all_run _ _ _ _ _ number _ _ _ Ee _ (compose _ _ _ _ _ _ _ _ Hd He)).
      intros a b y _ S (x & X & Y). exact (numerator_sound _ _ _ _ _ S X Y). }
    assert (ws = map number (map (weight w) e')) as ->.
    { apply (Forall2_map_in e' (weight w) (fun a b => quotient f a (number z') b)); [| exact Hw]. intros a b I D.
      destruct (all_in _ _ _ _ _ _ Ee I) as (s0 & _ & X). unfold weight.
      destruct (Z.eqb_spec a 0) as [-> | A].
      - apply (divided 0 z' w 0 b); [| exact Hw0 | exact Zpos | exact Rw | rewrite real_0; ring | exact D].
        unfold checker.returned. rewrite real_0, Rabs_R0. repeat split; [apply held_0 | apply bpow_gt_0 | left; reflexivity].
      - destruct (numerator_spec _ _ _ X) as [(_ & ->) | (_ & E0 & _)]; [| contradiction].
        apply (divided (one c) z' w w b Hw0 Hw0 Zpos Rw); [rewrite Rw; apply real_one | exact D]. }
    rewrite (columns_number vs n Wi) in Ho.
    refine (all_run _ _ _ _ _ number _ _ _ H _ (Forall2_pre _ _ _ _ _ _ _ Ho)). intros i v y _ S X. unfold average in S.
    destruct (sum_z (products (map (weight w) e') i)) as [o' |] eqn:E1; [| discriminate].
    destruct (sum_z (products e' i)) as [t' |] eqn:E2; [| discriminate].
    destruct (Z.shiftl t' k =? o' * z')%Z; [| discriminate]. inversion S; subst v.
    exact (sum_z_sound f f_usable k k_fits far c c_right _ _ _ _ (products_stand _ i) E1 X).
Qed.

(** *** Only rows that are read are added *)

Definition nonzero (l : list Z) : list Z := filter (fun z => negb (z =? 0)%Z) l.

Lemma sum_z_nonzero : forall l, sum_z (nonzero l) = sum_z l.
Proof.
  intro l. assert (P : parts (nonzero l) = parts l).
  { induction l as [| z l IH]; [reflexivity |]. unfold nonzero in *. cbn [filter]. destruct (Z.eqb_spec z 0) as [-> | N]; cbn [negb].
    - rewrite IH. cbn [parts]. destruct (parts l). reflexivity.
    - cbn [parts]. rewrite IH. reflexivity. }
  assert (F : forall j, forallb (fun z => Z.shiftl (Z.shiftr z j) j =? z)%Z (nonzero l) = forallb (fun z => Z.shiftl (Z.shiftr z j) j =? z)%Z l).
  { intro j. clear P. induction l as [| z l IH]; [reflexivity |]. unfold nonzero in *. cbn [filter]. destruct (Z.eqb_spec z 0) as [-> | N]; cbn [negb forallb].
    - rewrite IH, Z.shiftr_0_l, Z.shiftl_0_l. reflexivity.
    - rewrite IH. reflexivity. }
  unfold checker.sum_z. rewrite P. destruct (parts l) as (p, n). unfold fits_in. rewrite F. reflexivity.
Qed.

(** The numbers that are not 0, each with its row. *)
Fixpoint read_rows (e : list Z) (vs : list (list Z)) : list (Z * list Z) :=
  match e, vs with
  | Z0 :: e, _ :: vs => read_rows e vs
  | a :: e, v :: vs => (a, v) :: read_rows e vs
  | _, _ => []
  end.

Definition sum_read (read : list (Z * list Z)) (i : nat) : option Z := sum_z (products (map fst read) (column_z (map snd read) i)).

Lemma sum_read_is_sum : forall e vs i, sum_read (read_rows e vs) i = sum_z (products e (column_z vs i)).
Proof.
  intros e vs i. unfold sum_read. rewrite <- sum_z_nonzero. rewrite <- (sum_z_nonzero (products e (column_z vs i))). f_equal.
  revert vs. induction e as [| a e IH]; intros [| v vs]; [reflexivity.. | destruct a; reflexivity |].
  destruct a as [| a | a]; cbn [read_rows map fst snd column_z products].
  - rewrite Z.mul_0_l. unfold nonzero at 2. cbn [filter Z.eqb negb]. apply IH.
  - unfold nonzero in *. cbn [filter]. unfold column_z in IH. rewrite IH. reflexivity.
  - unfold nonzero in *. cbn [filter]. unfold column_z in IH. rewrite IH. reflexivity.
Qed.

(** The averages of [n] columns; if one row is read, both ways are one. *)
Definition averages (p : pattern) (n : nat) (vs : list (list Z)) : option (list Z) :=
  let '(e, W, z) := p in
  let read := read_rows e vs in
  if (z =? one c)%Z then all (sum_read read) (seq 0 n) else
  let weighted := read_rows W vs in
  all (fun i => match sum_read weighted i, sum_read read i with
                | Some o, Some t => if (Z.shiftl t k =? o * z)%Z then Some o else None
                | _, _ => None end) (seq 0 n).

(** The weight of one row alone is its numerator. *)
Lemma one_row : forall ks q e W, pattern_z ks q = Some (e, W, one c) -> W = e.
Proof.
  intros ks q e W H. unfold pattern_z in H.
  destruct (all (fun b => sum_z (products q b)) ks) as [s |]; [| discriminate].
  destruct (all (numerator (largest s)) s) as [e' |] eqn:Ee; [| discriminate].
  destruct (sum_z (map (fun a => Z.shiftl a k) e')) as [z' |]; [| discriminate].
  cbv zeta in H. destruct (_ && _)%bool in H; [| discriminate]. inversion H. subst e' z'. clear H.
  assert (O : one c <> 0%Z). { rewrite one_is. apply Z.pow_nonzero; [lia | apply k_fits]. }
  rewrite Z.div_mul by exact O.
  assert (X : forall a, In a e -> weight (one c) a = a).
  { intros a I. destruct (all_in _ _ _ _ _ _ Ee I) as (x & _ & N). unfold weight.
    destruct (Z.eqb_spec a 0) as [-> | A]; [reflexivity |].
    destruct (numerator_spec _ _ _ N) as [(_ & ->) | (_ & E & _)]; [reflexivity | contradiction]. }
  transitivity (map (fun a => a) e); [apply map_ext_in; exact X | apply map_id].
Qed.

Lemma averages_spec : forall ks q e W z n vs, pattern_z ks q = Some (e, W, z) ->
  averages (e, W, z) n vs = all (average e W z) (columns_z n vs).
Proof.
  intros ks q e W z n vs H. unfold averages, columns_z.
  assert (M : forall l, all (average e W z) (map (column_z vs) l) = all (fun i => average e W z (column_z vs i)) l).
  { induction l as [| i l IH]; [reflexivity |]. simpl. rewrite IH. reflexivity. }
  rewrite M. destruct (Z.eqb_spec z (one c)) as [-> |].
  - rewrite (one_row ks q e W H). apply all_ext. intro i. rewrite sum_read_is_sum. unfold average.
    destruct (sum_z (products e (column_z vs i))) as [o |]; [| reflexivity].
    rewrite one_is, Z.shiftl_mul_pow2, Z.eqb_refl by apply k_fits. reflexivity.
  - apply all_ext. intro i. rewrite !sum_read_is_sum. reflexivity.
Qed.

(** Patterns that have been found before, by keys and query. *)
Definition memory : Type := list (list (list Z) * list (list Z * pattern)).

Fixpoint same_rows (a b : list (list Z)) : bool :=
  match a, b with [], [] => true | x :: a, y :: b => same x y && same_rows a b | _, _ => false end.

Lemma same_rows_equal : forall a b, same_rows a b = true -> a = b.
Proof.
  induction a as [| x a IH]; intros [| y b] H; simpl in H; try discriminate; [reflexivity |].
  apply andb_prop in H. destruct H as (E & H). f_equal; [apply same_equal, E | apply IH, H].
Qed.

Fixpoint remember (m : memory) (ks : list (list Z)) : list (list Z * pattern) :=
  match m with [] => [] | (ks', l) :: m => if same_rows ks' ks then l else remember m ks end.

Fixpoint recall (l : list (list Z * pattern)) (q : list Z) : option pattern :=
  match l with [] => None | (q', p) :: l => if same q' q then Some p else recall l q end.

Definition good (m : memory) : Prop := forall ks q p, recall (remember m ks) q = Some p -> pattern_z ks q = Some p.

Definition learned (keys : list (list (list Z) * list (list Z))) : memory :=
  map (fun a => (fst a, flat_map (fun q => match pattern_z (fst a) q with Some p => [(q, p)] | None => [] end) (snd a))) keys.

Lemma learned_good : forall keys, good (learned keys).
Proof.
  intro keys. induction keys as [| (ks', qs) keys IH]; intros ks q p H; [discriminate |]. cbn [learned map remember fst snd] in H.
  destruct (same_rows ks' ks) eqn:E; [| apply IH, H]. apply same_rows_equal in E. subst ks'.
  induction qs as [| q' qs IHq]; [discriminate |]. simpl in H. destruct (pattern_z ks q') as [p' |] eqn:P; [| apply IHq, H].
  simpl in H. destruct (same q' q) eqn:S; [| apply IHq, H]. inversion H; subst p'. rewrite <- (same_equal _ _ S). exact P.
Qed.

Definition head_m (l : list (list Z * pattern)) (ks vs : list (list Z)) (n : nat) (q : list Z) : option (list Z) :=
  match (match recall l q with Some p => Some p | None => pattern_z ks q end) with
  | Some p => averages p n vs
  | None => None
  end.

Lemma head_m_spec : forall m ks vs n q, good m -> head_m (remember m ks) ks vs n q = head_z ks (columns_z n vs) q.
Proof.
  intros m ks vs n q G. unfold head_m, head_z. specialize (G ks q). destruct (recall (remember m ks) q) as [p |].
  - specialize (G p eq_refl). rewrite G. destruct p as ((e, W), z). apply (averages_spec ks q), G.
  - destruct (pattern_z ks q) as [((e, W), z) |] eqn:E; [apply (averages_spec ks q), E | reflexivity].
Qed.

Variable known : memory.
Hypothesis known_good : good known.

(** *** Blocks *)

(** A head with its keys, its values, and the patterns that are known of its keys. *)
Definition ready : Type := head * list (list Z) * list (list Z) * list (list Z * pattern).

Definition prepared (rows : list (list Z)) (h : head) : option ready :=
  match all (linear_z false (key h) (alone_z (key h))) rows, all (linear_z false (value h) (alone_z (value h))) rows with
  | Some ks, Some vs => if wide (length (value h)) vs && bounded vs then Some (h, ks, vs, remember known ks) else None
  | _, _ => None
  end.

Definition asked (x : list Z) (p : ready) : option (list Z) :=
  let '(h, ks, vs, l) := p in
  match linear_z false (query h) (alone_z (query h)) x with
  | Some q => head_m l ks vs (length (value h)) q
  | None => None
  end.

Definition attention_z (ps : list ready) (W_O : list neuron) (skip : bool) (x : list Z) : option (list Z) :=
  match all (asked x) ps with
  | Some os => linear_z false W_O (skipping_z skip W_O x) (concat os)
  | None => None
  end.

Definition block_z (b : block) (rows : list (list Z)) : option (list (list Z)) :=
  match b with
  | FeedForward W_in W_out skip => all_rows (feed_forward_z W_in W_out skip) None rows
  | Attention hs W_O skip Causal =>
      all (fun a => match all (prepared (fst a)) hs with Some ps => attention_z ps W_O skip (snd a) | None => None end) (asking Causal rows)
  | Attention hs W_O skip who =>
      match all (prepared rows) hs with
      | Some ps => all (fun a => attention_z ps W_O skip (snd a)) (asking who rows)
      | None => None
      end
  end.

Lemma asked_sound : forall rows x h p o os, prepared rows h = Some p -> asked x p = Some o ->
  head_run f exponential k (map (map number) rows) (map number x) h os -> os = map number o.
Proof.
  intros rows x h p o os P A (q & ks & vs & s & Hq & Hk & Hv & Hs & Ho).
  unfold prepared in P.
  destruct (all (linear_z false (key h) (alone_z (key h))) rows) as [ks' |] eqn:Ek; [| discriminate].
  destruct (all (linear_z false (value h) (alone_z (value h))) rows) as [vs' |] eqn:Ev; [| discriminate].
  destruct (wide (length (value h)) vs' && bounded vs') eqn:W; [| discriminate]. inversion P; subst p. clear P.
  apply andb_prop in W. destruct W as (W & B). unfold asked in A.
  destruct (linear_z false (query h) (alone_z (query h)) x) as [q' |] eqn:Eq; [| discriminate].
  rewrite (head_m_spec known _ _ _ _ known_good) in A.
  rewrite alone_number in Hq. rewrite (linear_sound _ _ _ _ _ Eq Hq) in Hs.
  assert (ks = map (map number) ks') as ->.
  { refine (all_run _ _ _ _ _ (map number) _ _ _ Ek _ (Forall2_pre _ _ _ _ _ _ _ Hk)). intros a b y _ S X.
    rewrite alone_number in X. exact (linear_sound _ _ _ _ _ S X). }
  assert (vs = map (map number) vs') as ->.
  { refine (all_run _ _ _ _ _ (map number) _ _ _ Ev _ (Forall2_pre _ _ _ _ _ _ _ Hv)). intros a b y _ S X.
    rewrite alone_number in X. exact (linear_sound _ _ _ _ _ S X). }
  refine (head_sound ks' vs' (length (value h)) q' o s os A _ W B Hs Ho).
  rewrite (all_length _ _ _ _ _ Ek), (all_length _ _ _ _ _ Ev). reflexivity.
Qed.

Lemma attention_sound : forall rows hs W_O skip x ps y ys, all (prepared rows) hs = Some ps ->
  attention_z ps W_O skip x = Some y ->
  attention_run f exponential k hs W_O skip (map (map number) rows) (map number x) ys -> ys = map number y.
Proof.
  intros rows hs W_O skip x ps y ys P A (os & H1 & H2). unfold attention_z in A.
  destruct (all (asked x) ps) as [os' |] eqn:E; [| discriminate].
  assert (os = map (map number) os') as ->.
  { clear A H2. revert ps os' P E. induction H1 as [| h o hs os Ho _ IH]; intros ps os' P E; simpl in P.
    - inversion P; subst ps. inversion E; subst os'. reflexivity.
    - destruct (prepared rows h) as [p |] eqn:Ep; [| discriminate]. destruct (all (prepared rows) hs) as [ps' |]; [| discriminate].
      inversion P; subst ps. simpl in E. destruct (asked x p) as [o' |] eqn:Eo; [| discriminate].
      destruct (all (asked x) ps') as [os0 |] eqn:Es; [| discriminate]. inversion E; subst os'. simpl. f_equal.
      + exact (asked_sound _ _ _ _ _ _ Ep Eo Ho).
      + exact (IH ps' os0 eq_refl Es). }
  rewrite concat_map, skipping_number in H2 || (rewrite skipping_number, <- concat_map in H2).
  exact (linear_sound _ _ _ _ _ A H2).
Qed.

Lemma asking_map : forall A B (g : A -> B) who rows,
  asking who (map g rows) = map (fun a => (map g (fst a), g (snd a))) (asking who rows).
Proof.
  intros A B g [| |] rows; unfold asking.
  - rewrite !map_map. reflexivity.
  - rewrite map_length. generalize (seq 0 (length rows)). intro numbers.
    transitivity (map (fun p : nat * A => (map g (firstn (S (fst p)) rows), g (snd p))) (combine numbers rows)); [| rewrite map_map; reflexivity].
    assert (X : forall l, map (fun p : nat * B => (firstn (S (fst p)) (map g rows), snd p)) (combine numbers (map g l)) =
                          map (fun p : nat * A => (map g (firstn (S (fst p)) rows), g (snd p))) (combine numbers l)).
    { induction numbers as [| i numbers IH]; intros [| a l]; [reflexivity.. |]. cbn [map combine fst snd]. rewrite IH, firstn_map. reflexivity. }
    apply X.
  - rewrite map_length, skipn_map, !map_map. reflexivity.
Qed.

Lemma block_sound : forall b rows rows' ys, block_z b rows = Some rows' ->
  block_run f exponential k b (map (map number) rows) ys -> ys = map (map number) rows'.
Proof.
  intros [W_in W_out skip | hs W_O skip who] rows rows' ys H R; cbn [block_run] in R.
  - simpl in H. rewrite all_rows_spec in H by discriminate. refine (all_run _ _ _ _ _ (map number) _ _ _ H _ (Forall2_pre _ _ _ _ _ _ _ R)).
    intros a b y _. apply feed_forward_sound.
  - rewrite asking_map in R. apply Forall2_pre in R. cbn [fst snd] in R.
    assert (X : all (fun a => match all (prepared (fst a)) hs with Some ps => attention_z ps W_O skip (snd a) | None => None end) (asking who rows) = Some rows' ->
                ys = map (map number) rows').
    { intro X. refine (all_run _ _ _ _ _ (map number) _ _ _ X _ R). intros (read, a) b y _ S Y. cbn [fst snd] in *.
      destruct (all (prepared read) hs) as [ps |] eqn:P; [| discriminate]. exact (attention_sound _ _ _ _ _ _ _ _ P S Y). }
    destruct who; [| exact (X H) |].
    + cbn [block_z] in H. destruct (all (prepared rows) hs) as [ps |] eqn:P; [| discriminate].
      refine (all_run _ _ _ _ _ (map number) _ _ _ H _ R). intros (read, a) b y I S Y. cbn [fst snd] in *.
      apply in_map_iff in I. destruct I as (x & E & _). inversion E; subst read. exact (attention_sound _ _ _ _ _ _ _ _ P S Y).
    + cbn [block_z] in H. destruct (all (prepared rows) hs) as [ps |] eqn:P; [| discriminate].
      refine (all_run _ _ _ _ _ (map number) _ _ _ H _ R). intros (read, a) b y I S Y. cbn [fst snd] in *.
      apply in_map_iff in I. destruct I as (x & E & _). inversion E; subst read. exact (attention_sound _ _ _ _ _ _ _ _ P S Y).
Qed.

Fixpoint blocks_z (bs : list block) (rows : list (list Z)) : option (list (list Z)) :=
  match bs with
  | [] => Some rows
  | b :: bs => match block_z b rows with Some between => blocks_z bs between | None => None end
  end.

Lemma blocks_sound : forall bs rows rows' ys, blocks_z bs rows = Some rows' ->
  blocks_run f exponential k bs (map (map number) rows) ys -> ys = map (map number) rows'.
Proof.
  induction bs as [| b bs IH]; intros rows rows' ys H R; simpl in H, R.
  - inversion H; subst rows'. exact R.
  - destruct R as (between & R1 & R2). destruct (block_z b rows) as [m |] eqn:E; [| discriminate].
    rewrite (block_sound _ _ _ _ E R1) in R2. exact (IH _ _ _ H R2).
Qed.

(** Keys and queries of the heads of a model on some rows, by keys. *)
Fixpoint insert (ks qs : list (list Z)) (l : list (list (list Z) * list (list Z))) :=
  match l with
  | [] => [(ks, qs)]
  | (ks', qs') :: l => if same_rows ks ks' then (ks', qs ++ qs') :: l else (ks', qs') :: insert ks qs l
  end.

Fixpoint gather (bs : list block) (rows : list (list Z)) : list (list (list Z) * list (list Z)) :=
  match bs with
  | [] => []
  | b :: bs =>
    let others := match block_z b rows with Some between => gather bs between | None => [] end in
    match b with
    | FeedForward _ _ _ => others
    | Attention hs _ _ who =>
        fold_right (fun h l => match all (linear_z false (key h) (alone_z (key h))) rows,
                                     all (linear_z false (query h) (alone_z (query h))) (map snd (asking who rows)) with
                               | Some ks, Some qs => insert ks qs l | _, _ => l end) others hs
    end
  end.

Definition embed_z (x : list Z * list Z) : option (list Z) :=
  all (fun ab => sum_z [Z.shiftl (fst ab) k; Z.shiftl (snd ab) k]) (combine (fst x) (snd x)).

Lemma embed_sound : forall x y ys, embed_z x = Some y -> embed_run f k x ys -> ys = map number y.
Proof.
  intros x y ys H R. refine (all_run _ _ _ _ _ number _ _ _ H _ R). intros (a, b) v w _ S X. cbn [fst snd] in *.
  exact (sum_z_sound f f_usable k k_fits far c c_right _ _ _ _ (given_stand [a; b]) S X).
Qed.

End Network.

(** *** Models *)

Section Models.

Variable f : format.
Variable far : Z.
Variable m : model.
Notation k := (scale m).

(** Whether the format, the bound of the exponential and the scale are such that the lemmas hold. *)
Definition usable_z : bool :=
  ((2 <=? precision f) && (precision f + 1 <=? safe f) && (normal f <=? 0) && (0 <=? k) && (normal f <=? - (2 * k)) && (1 <=? far))%Z.

Section Constants.

Variable c : constants.

Definition embedded (tokens : list nat) : option (list (list Z)) :=
  all (embed_z f k c) (combine (map (fun t => nth t (W_E m) []) tokens) (W_pos m)).

(** The logits behind [tokens], in integers; [known] makes it faster. *)
Definition model_z (known : memory) (tokens : list nat) : option (list Z) :=
  match embedded tokens with
  | None => None
  | Some rows =>
    match blocks_z f k c known (blocks m) rows with
    | None => None
    | Some rows' => linear_z f k c false (W_U m) (alone_z (W_U m)) (last rows' [])
    end
  end.

(** What the checker computes is what every run returns. *)
Theorem model_sound : forall exponential known tokens logits l, usable f -> (1 <= far)%Z /\ held f (- IZR far) -> scale_fits f k ->
  c = constants_of f far k -> usual far exponential -> good f k c known ->
  model_z known tokens = Some l -> run f exponential m tokens logits -> logits = map (number k) l.
Proof.
  intros exponential known tokens logits l Fu Fa K C U G H (rows & rows' & H1 & H2 & H3). unfold model_z, embedded in H.
  destruct (all (embed_z f k c) _) as [r |] eqn:E1 in H; [| discriminate].
  destruct (blocks_z f k c known (blocks m) r) as [r' |] eqn:E2; [| discriminate].
  assert (rows = map (map (number k)) r) as ->.
  { refine (all_run _ _ _ _ _ (map (number k)) _ _ _ E1 _ H1). intros a b y _. apply (embed_sound f Fu far k K c C). }
  rewrite (blocks_sound f Fu far Fa k K c C exponential U known G _ _ _ _ E2 H2) in H3.
  replace (last (map (map (number k)) r') []) with (map (number k) (last r' [])) in H3.
  - rewrite (alone_number k) in H3. exact (linear_sound f Fu far k K c C _ _ _ _ _ H H3).
  - clear. induction r' as [| a [| b r'] IH]; [reflexivity | reflexivity |]. exact IH.
Qed.

End Constants.

End Models.

