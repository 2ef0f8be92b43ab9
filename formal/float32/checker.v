(** The checker: it evaluates a model in integers and refuses whatever a run might round. Its soundness: if it accepts,
    every run returns what it has computed. *)

From Coq Require Import Reals List ZArith Permutation Lra Lia Bool.
From Flocq Require Import Core.
From Float32 Require Import semantics exact_sums.
Import ListNotations.
Open Scope R_scope.

(** *** Lists *)

(** [f] of each entry, or nothing if it is nothing of one. *)
Fixpoint all {A B} (f : A -> option B) (l : list A) : option (list B) :=
  match l with
  | [] => Some []
  | a :: l => match f a with None => None | Some b => match all f l with None => None | Some m => Some (b :: m) end end
  end.

Lemma all_run : forall A B C (f : A -> option B) (run : A -> C -> Prop) (form : B -> C) l m ys,
  all f l = Some m -> (forall a b y, In a l -> f a = Some b -> run a y -> y = form b) -> Forall2 run l ys -> ys = map form m.
Proof.
  intros A B C f run form l m ys H S F. revert m H S.
  induction F as [| a y l ys Ha _ IH]; intros m H S; simpl in H.
  - inversion H. reflexivity.
  - destruct (f a) as [b |] eqn:E; [| discriminate]. destruct (all f l) as [m' |]; [| discriminate].
    inversion H; subst m. simpl. f_equal.
    + apply (S a); [left; reflexivity | assumption | assumption].
    + apply IH; [reflexivity |]. intros. apply (S a0); [right |..]; assumption.
Qed.

Lemma all_related : forall A B C (f : A -> option B) (run : A -> C -> Prop) (is : B -> C -> Prop) l m ys,
  all f l = Some m -> (forall a b y, In a l -> f a = Some b -> run a y -> is b y) -> Forall2 run l ys -> Forall2 is m ys.
Proof.
  intros A B C f run is l m ys H S F. revert m H S.
  induction F as [| a y l ys Ha _ IH]; intros m H S; simpl in H.
  - inversion H. constructor.
  - destruct (f a) as [b |] eqn:E; [| discriminate]. destruct (all f l) as [m' |]; [| discriminate].
    inversion H; subst m. constructor.
    + apply (S a); [left; reflexivity | assumption | assumption].
    + apply IH; [reflexivity |]. intros. apply (S a0); [right |..]; assumption.
Qed.

Lemma Forall2_pre : forall A B C (R : B -> C -> Prop) (pre : A -> B) l ys,
  Forall2 R (map pre l) ys -> Forall2 (fun a y => R (pre a) y) l ys.
Proof.
  intros A B C R pre l. induction l as [| a l IH]; intros ys H; inversion H; subst; constructor; [assumption | auto].
Qed.

Lemma combine_map_r : forall A B C (f : B -> C) (l : list A) (m : list B),
  combine l (map f m) = map (fun p => (fst p, f (snd p))) (combine l m).
Proof. intros A B C f l. induction l as [| a l IH]; intros [| b m]; simpl; [..| rewrite IH]; reflexivity. Qed.

(** What is computed once: 2^precision, 2^(safe - 1), 2^k, far 2^k, 2^(precision - k) and k. *)
Record constants := Constants { limit : Z; reach : Z; one : Z; distance : Z; small : Z; places : nat }.
Definition constants_of (f : format) (far k : Z) : constants :=
  Constants (2 ^ precision f) (2 ^ (safe f - 1)) (2 ^ k) (far * 2 ^ k) (Z.shiftr (2 ^ precision f) k) (Z.to_nat k).

(** Products of two stored numbers are 0 or normal. *)
Definition scale_fits (f : format) (k : Z) : Prop := (0 <= k /\ normal f <= - (2 * k))%Z.

Section Checker.

Variable f : format.
Hypothesis f_usable : usable f.
Variable k : Z.
Hypothesis k_fits : scale_fits f k.
Variable far : Z.
Variable c : constants.
Hypothesis c_right : c = constants_of f far k.
Notation sum_run := (sum_run f).

Lemma k_pos : (0 <= k)%Z. Proof. apply k_fits. Qed.
Lemma p_pos : (2 <= precision f)%Z. Proof. apply f_usable. Qed.
Lemma limit_is : limit c = (2 ^ precision f)%Z. Proof. rewrite c_right. reflexivity. Qed.

(** The number that [z] stands for. *)
Definition real (z : Z) : R := IZR z * pow2 (- k).
Notation number := (number k).

Lemma number_real : forall z, number z = Some (real z).
Proof. reflexivity. Qed.

Definition fine : R := pow2 (- (2 * k)). (* the unit of products *)

Lemma real_product : forall a b, real a * real b = IZR (a * b) * fine.
Proof.
  intros a b. unfold real, fine. rewrite mult_IZR. replace (- (2 * k))%Z with (- k + - k)%Z by ring. rewrite bpow_plus. ring.
Qed.

Lemma real_shifted : forall z, real z = IZR (Z.shiftl z k) * fine.
Proof.
  intro z. pose proof k_pos. rewrite Z.shiftl_mul_pow2 by lia. unfold real, fine. rewrite mult_IZR, <- pow2_IZR by lia.
  rewrite Rmult_assoc, <- bpow_plus. do 2 f_equal. ring.
Qed.

Definition stands (t : num * num) (z : Z) : Prop := finite t /\ term t = IZR z * fine.

(** *** Sums *)

(** The sum of the positive integers of a list, and of the negative ones. *)
Fixpoint parts (l : list Z) : Z * Z :=
  match l with
  | [] => (0, 0)
  | z :: l => let (p, n) := parts l in
      match z with Z0 => (p, n) | Zpos q => (p + Zpos q, n) | Zneg q => (p, n + Zpos q) end
  end%Z.

(** Whether the format holds all partial sums: in units of 1, or of the least power of 2 in which they are small enough,
    if it divides all terms. *)
Definition fits_in (l : list Z) (p n : Z) : bool :=
  if ((p <=? limit c) && (n <=? limit c))%Z then true else
  let j := (Z.log2_up (Z.max p n) - precision f)%Z in
  ((0 <=? j) && (j <? safe f - precision f + 2 * k) && forallb (fun z => Z.shiftl (Z.shiftr z j) j =? z) l &&
   (p <=? Z.shiftl (limit c) j) && (n <=? Z.shiftl (limit c) j))%Z.

(** The sum of integers of units [fine], in units of 2^-k. *)
Definition sum_z (l : list Z) : option Z :=
  let (p, n) := parts l in
  if fits_in l p n then
    let v := Z.shiftr (p - n) k in if (Z.shiftl v k =? p - n)%Z then Some v else None
  else None.

(** Two integers between which a number is, or a term. *)
Definition interval : Type := Z * Z.
Definition point (z : Z) : interval := (z, z).

(** Sums of the lower ends, of the upper ends, and of what is at least the size of each term. *)
Fixpoint ends (l : list interval) : Z * Z * Z :=
  match l with
  | [] => (0, 0, 0)
  | (a, b) :: l => let '(lo, hi, s) := ends l in (a + lo, b + hi, Z.max (Z.abs a) (Z.abs b) + s)
  end%Z.

(** How far every run of a sum may be from its exact value, in units [fine]; nothing if it may overflow. *)
Definition error_z (l : list interval) : option Z :=
  let '(_, _, s) := ends l in let count := Z.of_nat (length l) in
  let size := (s + Z.shiftl count (Z.max 0 (normal f + precision f - 1 + 2 * k)))%Z in
  if ((4 * count <=? limit c) && (2 * size <=? reach c))%Z then Some (Z.shiftr (count * size) (precision f - 2) + 1)%Z else None.

(** In units of 2^-k, what is between [lo - e] and [hi + e] in units [fine]. *)
Definition widened (lo hi e : Z) : interval := (Z.shiftr (lo - e) k, Z.shiftr (hi + e) k + 1)%Z.

(** Between which numbers every run of a sum is, if its exact value is within [more] besides. *)
Definition sum_inside (more : option interval) (l : list interval) : option interval :=
  match error_z l with
  | None => None
  | Some e =>
      let '(lo, hi, _) := ends l in
      Some (match more with Some (a, b) => widened (Z.max a lo) (Z.min b hi) e | None => widened lo hi e end)
  end.
Definition sum_near : list interval -> option interval := sum_inside None.

(** Exactly, where that is known. *)
Definition is_point (p : interval) : bool := (fst p =? snd p)%Z.
Definition sum_exact (l : list interval) : option Z := if forallb is_point l then sum_z (map fst l) else None.
Definition sum_between (more : option interval) (l : list interval) : option interval :=
  match sum_exact l with Some v => Some (point v) | None => sum_inside more l end.

(** The same behind ReLU: 0 also if every run is at most 0. *)
Definition relu_z (l : list Z) : option Z :=
  match sum_z l with
  | Some v => Some (Z.max v 0)
  | None => match sum_near (map point l) with Some (_, hi) => if (hi <=? 0)%Z then Some 0%Z else None | None => None end
  end.

Lemma fine_pos : 0 < fine. Proof. apply bpow_gt_0. Qed.

Lemma parts_totals : forall ts l, Forall2 stands ts l -> let (p, n) := parts l in
  (0 <= p)%Z /\ (0 <= n)%Z /\ total above ts = IZR p * fine /\ total below ts = IZR n * fine /\
  total (size f) ts = IZR (p + n) * fine + INR (length ts) * tiny f.
Proof.
  intros ts l H. pose proof fine_pos as U. induction H as [| t z ts l (_ & E) _ IH].
  - simpl. repeat split; try lia; try ring.
  - cbn [parts]. destruct (parts l) as (p, n). destruct IH as (P & N & A & B & S). cbn [total fold_right].
    fold (total above ts) (total below ts) (total (size f) ts). rewrite A, B, S, E.
    change (length (t :: ts)) with (Datatypes.S (length ts)). rewrite S_INR.
    destruct z as [| q | q]; rewrite ?plus_IZR in *; (split; [lia |]); (split; [lia |]); unfold above, below, size.
    + rewrite Rmult_0_l, Ropp_0, (Rmax_left 0 0), Rabs_R0 by apply Rle_refl. repeat split; ring.
    + assert (0 < IZR (Zpos q) * fine) by (apply Rmult_lt_0_compat; [apply IZR_lt; reflexivity | exact U]).
      rewrite (Rmax_left (IZR _ * fine)), Rmax_right, Rabs_pos_eq by lra. repeat split; ring.
    + change (Zneg q) with (- Zpos q)%Z. rewrite opp_IZR.
      assert (0 < IZR (Zpos q) * fine) by (apply Rmult_lt_0_compat; [apply IZR_lt; reflexivity | exact U]).
      rewrite Ropp_mult_distr_l_reverse, Ropp_involutive.
      rewrite Rmax_right, Rmax_left, Rabs_left by lra. repeat split; ring.
Qed.

Lemma stands_finite : forall ts l, Forall2 stands ts l -> Forall finite ts.
Proof. intros ts l H. induction H as [| t z ts l (F & _) _ IH]; constructor; assumption. Qed.

Lemma stands_total : forall ts l, Forall2 stands ts l ->
  total exact ts = IZR (fst (parts l) - snd (parts l)) * fine.
Proof.
  intros ts l H. rewrite total_parts. pose proof (parts_totals ts l H) as P. destruct (parts l) as (p, n).
  destruct P as (_ & _ & -> & -> & _). simpl. rewrite minus_IZR. ring.
Qed.

Lemma fits_in_sound : forall ts l, Forall2 stands ts l -> fits_in l (fst (parts l)) (snd (parts l)) = true ->
  exists e, unit f e /\ fits f e ts.
Proof.
  intros ts l H. pose proof (parts_totals ts l H) as P. pose proof (stands_finite ts l H) as F. unfold fits_in.
  rewrite limit_is. destruct (parts l) as (p, n). cbn [fst snd]. destruct P as (P & N & A & B & _). pose proof fine_pos as U.
  destruct k_fits as (K & Low). destruct f_usable as (P2 & Room & _).
  destruct (((p <=? 2 ^ precision f) && (n <=? 2 ^ precision f))%Z) eqn:C.
  - intros _. apply andb_prop in C. rewrite !Z.leb_le in C. destruct C as (C1 & C2).
    exists (- (2 * k))%Z. split; [split; lia |]. repeat split; [exact F | | |].
    + clear - H. induction H as [| t z ts l (_ & E) _ IH]; constructor; [exists z; exact E | exact IH].
    + rewrite A, bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0 |]. rewrite pow2_IZR by lia. apply IZR_le, C1.
    + rewrite B, bpow_plus. apply Rmult_le_compat_r; [apply bpow_ge_0 |]. rewrite pow2_IZR by lia. apply IZR_le, C2.
  - clear C. set (j := (Z.log2_up _ - _)%Z). intro C. rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt in C. destruct C as ((((J0 & J1) & D) & C1) & C2).
    clearbody j. rewrite Z.shiftl_mul_pow2 in C1, C2 by exact J0.
    assert (X : forall q, (q <= 2 ^ precision f * 2 ^ j)%Z -> IZR q * fine <= pow2 (precision f + (j - 2 * k))).
    { intros q Q. replace (precision f + (j - 2 * k))%Z with ((precision f + j) + (- (2 * k)))%Z by ring. rewrite bpow_plus.
      apply Rmult_le_compat_r; [apply bpow_ge_0 |]. rewrite pow2_IZR by lia. apply IZR_le. rewrite Z.pow_add_r by lia. exact Q. }
    exists (j - 2 * k)%Z. split; [split; lia |]. repeat split; [exact F | | rewrite A; apply X, C1 | rewrite B; apply X, C2].
    rewrite forallb_forall in D. clear - H D J0. induction H as [| t z ts l (_ & E) _ IH]; constructor.
    + exists (Z.shiftr z j). specialize (D z (or_introl eq_refl)). apply Z.eqb_eq in D.
      rewrite Z.shiftl_mul_pow2 in D by exact J0. rewrite E. rewrite <- D at 1. unfold fine, Z.sub. rewrite mult_IZR, bpow_plus, <- pow2_IZR by exact J0. ring.
    + apply IH. intros x Hx. apply D. right. exact Hx.
Qed.

Lemma sum_z_value : forall l v, sum_z l = Some v ->
  fits_in l (fst (parts l)) (snd (parts l)) = true /\ IZR (fst (parts l) - snd (parts l)) * fine = real v.
Proof.
  intros l v. unfold sum_z. destruct (parts l) as (p, n). cbn [fst snd]. destruct (fits_in l p n); [| discriminate].
  destruct (Z.eqb_spec (Z.shiftl (Z.shiftr (p - n) k) k) (p - n)) as [E |]; [| discriminate].
  intro H. inversion H; subst v. split; [reflexivity |]. rewrite real_shifted, E. reflexivity.
Qed.

Lemma sum_z_sound : forall ts l v y, Forall2 stands ts l -> sum_z l = Some v -> sum_run ts y -> y = number v.
Proof.
  intros ts l v y H S R. destruct (sum_z_value l v S) as (F & E).
  destruct (fits_in_sound ts l H F) as (e & He & Fe). rewrite (sum_without_rounding f f_usable e ts y He Fe R).
  rewrite (stands_total ts l H), E. reflexivity.
Qed.

(** A number that is returned exactly where it is computed. *)
Definition returned (x : R) : Prop := held f x /\ Rabs x < pow2 (safe f) /\ (x = 0 \/ pow2 (normal f) <= Rabs x).

Lemma sum_z_returned : forall ts l v, Forall2 stands ts l -> sum_z l = Some v -> returned (real v).
Proof.
  intros ts l v H S. destruct (sum_z_value l v S) as (F & E).
  destruct (fits_in_sound ts l H F) as (e & He & Fe). destruct (fits_total f e ts Fe) as ((z & Z) & B).
  rewrite (stands_total ts l H), E in Z, B. rewrite Z in *. destruct He as (L & U). pose proof p_pos. repeat split.
  - apply (held_multiple f f_usable); [unfold normal in L; lia | exact B].
  - eapply Rle_lt_trans; [apply B |]. apply bpow_lt. exact U.
  - apply multiple_not_tiny. exact L.
Qed.

(** *** Sums that may be rounded *)

Definition between (t : num * num) (p : interval) : Prop :=
  finite t /\ IZR (fst p) * fine <= term t <= IZR (snd p) * fine.

Definition within (p : interval) (y : num) : Prop := exists r, y = Some r /\ real (fst p) <= r <= real (snd p).

Lemma between_ends : forall ts l, Forall2 between ts l -> let '(lo, hi, s) := ends l in
  Forall finite ts /\ IZR lo * fine <= total exact ts <= IZR hi * fine /\
  total (size f) ts <= IZR s * fine + INR (length ts) * tiny f /\ (0 <= s)%Z.
Proof.
  intros ts l H. pose proof fine_pos as U. induction H as [| t (a, b) ts l (F & L) _ IH].
  - simpl. repeat split; try constructor; try lra; lia.
  - cbn [ends]. destruct (ends l) as ((lo, hi), s). destruct IH as (A & B & S & P). cbn [fst snd] in L.
    split; [constructor; assumption |]. cbn [total fold_right]. fold (total exact ts) (total (size f) ts).
    change (length (t :: ts)) with (Datatypes.S (length ts)). rewrite S_INR, !plus_IZR. unfold exact at 1 3, size at 1.
    split; [rewrite !Rmult_plus_distr_r; lra |]. split; [| lia].
    assert (M : Rabs (term t) <= IZR (Z.max (Z.abs a) (Z.abs b)) * fine).
    { assert (MA : IZR (Z.abs a) <= IZR (Z.max (Z.abs a) (Z.abs b))) by (apply IZR_le; lia).
      assert (MB : IZR (Z.abs b) <= IZR (Z.max (Z.abs a) (Z.abs b))) by (apply IZR_le; lia).
      rewrite abs_IZR in MA, MB. pose proof (Rle_abs (IZR b)). pose proof (Rle_abs (- IZR a)). rewrite Rabs_Ropp in *.
      set (M := IZR (Z.max _ _)) in *. clearbody M.
      assert (IZR b * fine <= M * fine) by (apply Rmult_le_compat_r; lra).
      assert (- M * fine <= IZR a * fine) by (apply Rmult_le_compat_r; lra).
      apply Rabs_le. lra. }
    lra.
Qed.

Lemma between_points : forall ts l, Forall2 between ts l -> forallb is_point l = true -> Forall2 stands ts (map fst l).
Proof.
  intros ts l H. induction H as [| t (a, b) ts l (F & L) _ IH]; intro E; constructor.
  - simpl in E. apply andb_prop in E. destruct E as (E & _). apply Z.eqb_eq in E. cbn [fst snd] in *. subst b.
    split; [exact F | cbn [fst]; lra].
  - apply IH. simpl in E. apply andb_prop in E. apply E.
Qed.

Lemma points_between : forall ts l, Forall2 stands ts l -> Forall2 between ts (map point l).
Proof. intros ts l H. induction H as [| t z ts l (F & E) _ IH]; constructor; [| exact IH]. split; [exact F | simpl; lra]. Qed.

Lemma shifted_down : forall z, real (Z.shiftr z k) <= IZR z * fine < real (Z.shiftr z k + 1).
Proof.
  intro z. pose proof k_pos as K. pose proof fine_pos as U. rewrite !real_shifted, Z.shiftr_div_pow2, !Z.shiftl_mul_pow2 by lia.
  assert (P : (0 < 2 ^ k)%Z) by (apply Z.pow_pos_nonneg; lia). pose proof (Z.mul_div_le z (2 ^ k) P). pose proof (Z.mul_succ_div_gt z (2 ^ k) P).
  split; [apply Rmult_le_compat_r; [lra |]; apply IZR_le; lia | apply Rmult_lt_compat_r; [lra |]; apply IZR_lt; lia].
Qed.

Theorem error_sound : forall ts l e y, Forall2 between ts l -> error_z l = Some e -> sum_run ts y ->
  exists r, y = Some r /\ Rabs (r - total exact ts) <= IZR e * fine.
Proof.
  intros ts l e y H S R. pose proof (between_ends ts l H) as E. unfold error_z in S. destruct (ends l) as ((lo, hi), s).
  destruct E as (Fi & _ & Z & S0). assert (L : length ts = length l) by (clear - H; induction H; simpl; congruence). rewrite <- L in S.
  set (b := precision f) in *. pose proof p_pos as P2. fold b in P2. pose proof k_pos as K. destruct f_usable as (_ & Room & _). fold b in Room.
  set (slack := Z.max 0 (normal f + b - 1 + 2 * k)) in *. cbv zeta in S.
  destruct (_ && _)%bool eqn:C in S; [| discriminate]. inversion S; subst e. clear S.
  rewrite !andb_true_iff, !Z.leb_le in C. destruct C as (C1 & C2).
  assert (G0 : (0 <= slack)%Z) by apply Z.le_max_l. assert (G1 : (normal f + b - 1 + 2 * k <= slack)%Z) by apply Z.le_max_r. clearbody slack.
  rewrite c_right in C1, C2. cbn [limit reach constants_of] in C1, C2. fold b in C1. rewrite Z.shiftl_mul_pow2 in C2 by lia.
  rewrite Z.shiftl_mul_pow2 by lia. set (n0 := length ts) in *. set (whole := (s + Z.of_nat n0 * 2 ^ slack)%Z) in *.
  pose proof (pos_INR n0) as C0. pose proof fine_pos as U. assert (IC : INR n0 = IZR (Z.of_nat n0)) by apply INR_IZR_INZ.
  assert (U1 : fine <= 1) by (change 1 with (pow2 0); apply bpow_le; lia).
  assert (Size : total (size f) ts <= IZR whole * fine).
  { eapply Rle_trans; [apply Z |]. unfold whole. rewrite (plus_IZR s), Rmult_plus_distr_r. apply Rplus_le_compat_l. rewrite mult_IZR, <- IC, Rmult_assoc.
    apply Rmult_le_compat_l; [exact C0 |]. unfold tiny, fine. rewrite <- pow2_IZR, <- bpow_plus by exact G0. apply bpow_le. fold b. lia. }
  assert (Size0 : 0 <= total (size f) ts) by (apply total_nonnegative, size_pos).
  assert (Few : INR n0 * pow2 (1 - b) <= / 2).
  { rewrite IC. apply Rle_trans with (IZR (2 ^ (b - 2)) * pow2 (1 - b)).
    - apply Rmult_le_compat_r; [apply bpow_ge_0 |]. apply IZR_le. assert (E : (2 ^ b = 4 * 2 ^ (b - 2))%Z).
      { replace b with (2 + (b - 2))%Z at 1 by ring. rewrite Z.pow_add_r by lia. reflexivity. } lia.
    - rewrite <- pow2_IZR, <- bpow_plus by lia. replace (b - 2 + (1 - b))%Z with (-1)%Z by ring. simpl. lra. }
  assert (Gr : growth f n0 <= 1 + 2 * INR n0 * pow2 (1 - b)) by (apply growth_linear; exact Few).
  pose proof (growth_one f n0) as Gr1.
  assert (W0 : (0 <= whole)%Z). { unfold whole. assert (0 <= 2 ^ slack)%Z by (apply Z.pow_nonneg; lia). lia. }
  destruct (sum_with_rounding f f_usable ts y Fi) as (r & -> & Er).
  - fold n0. assert (IZR whole * fine <= pow2 (safe f - 2) /\ growth f n0 <= 2).
    { split; [| lra].
      assert (B : IZR whole * fine <= IZR whole * 1) by (apply Rmult_le_compat_l; [apply IZR_le; exact W0 | exact U1]).
      apply IZR_le in C2. rewrite mult_IZR, <- pow2_IZR in C2 by lia. replace (safe f - 1)%Z with (1 + (safe f - 2))%Z in C2 by ring.
      rewrite bpow_plus in C2. change (pow2 1) with 2 in C2. lra. }
    apply Rle_lt_trans with (2 * pow2 (safe f - 2)).
    + apply Rmult_le_compat; lra.
    + change 2 with (pow2 1) at 1. rewrite <- bpow_plus. apply bpow_lt. lia.
  - exact R.
  - fold n0 in Er. exists r. split; [reflexivity |]. set (e := (Z.shiftr (Z.of_nat n0 * whole) (b - 2) + 1)%Z).
    assert (E1 : (growth f n0 - 1) * total (size f) ts <= (2 * INR n0 * pow2 (1 - b)) * (IZR whole * fine)) by (apply Rmult_le_compat; lra).
    assert (E2 : (2 * INR n0 * pow2 (1 - b)) * (IZR whole * fine) <= IZR e * fine).
    { replace (2 * INR n0 * pow2 (1 - b) * (IZR whole * fine)) with (INR n0 * IZR whole * (pow2 1 * pow2 (1 - b)) * fine) by (change (pow2 1) with 2; ring).
      apply Rmult_le_compat_r; [lra |]. rewrite <- bpow_plus, IC, <- mult_IZR. unfold e. rewrite Z.shiftr_div_pow2 by lia.
      set (q := (Z.of_nat n0 * whole)%Z). assert (P : (0 < 2 ^ (b - 2))%Z) by (apply Z.pow_pos_nonneg; lia).
      pose proof (Z.mul_succ_div_gt q (2 ^ (b - 2)) P) as Q. apply Rmult_le_reg_r with (pow2 (b - 2)); [apply bpow_gt_0 |].
      rewrite Rmult_assoc, <- bpow_plus. replace (1 + (1 - b) + (b - 2))%Z with 0%Z by ring. change (pow2 0) with 1. rewrite Rmult_1_r.
      rewrite pow2_IZR, <- mult_IZR by lia. apply IZR_le. lia. }
    lra.
Qed.

Lemma widened_holds : forall lo hi e t r, IZR lo * fine <= t <= IZR hi * fine -> Rabs (r - t) <= IZR e * fine -> within (widened lo hi e) (Some r).
Proof.
  intros lo hi e t r T E. apply Rabs_le_inv in E. exists r. split; [reflexivity |]. unfold widened. cbn [fst snd].
  pose proof (shifted_down (lo - e)) as (D1 & _). pose proof (shifted_down (hi + e)) as (_ & D2).
  rewrite minus_IZR in D1. rewrite plus_IZR in D2. rewrite Rmult_minus_distr_r in D1. rewrite Rmult_plus_distr_r in D2. lra.
Qed.

Lemma sum_inside_sound : forall more ts l p y, Forall2 between ts l ->
  (forall q, more = Some q -> IZR (fst q) * fine <= total exact ts <= IZR (snd q) * fine) ->
  sum_inside more l = Some p -> sum_run ts y -> within p y.
Proof.
  intros more ts l p y H M S R. unfold sum_inside in S. destruct (error_z l) as [e |] eqn:E; [| discriminate].
  destruct (error_sound ts l e y H E R) as (r & -> & Er). pose proof (between_ends ts l H) as T. destruct (ends l) as ((lo, hi), s).
  destruct T as (_ & T & _). inversion S; subst p. pose proof fine_pos as U. destruct more as [(a, b) |].
  - specialize (M (a, b) eq_refl). cbn [fst snd] in M. apply (widened_holds _ _ e (total exact ts) r); [| exact Er]. split.
    + destruct (Z.max_spec a lo) as [(_ & ->) | (_ & ->)]; lra.
    + destruct (Z.min_spec b hi) as [(_ & ->) | (_ & ->)]; lra.
  - exact (widened_holds lo hi e (total exact ts) r T Er).
Qed.

Lemma sum_near_sound : forall ts l p y, Forall2 between ts l -> sum_near l = Some p -> sum_run ts y -> within p y.
Proof. intros ts l p y H. apply (sum_inside_sound None ts l p y H). discriminate. Qed.

Lemma within_point : forall v y, y = number v -> within (point v) y.
Proof. intros v y ->. exists (real v). split; [reflexivity | simpl; lra]. Qed.

Lemma sum_exact_sound : forall ts l v y, Forall2 between ts l -> sum_exact l = Some v -> sum_run ts y -> y = number v /\ total exact ts = real v.
Proof.
  intros ts l v y H S R. unfold sum_exact in S. destruct (forallb is_point l) eqn:P; [| discriminate].
  pose proof (between_points ts l H P) as St. split; [exact (sum_z_sound ts (map fst l) v y St S R) |].
  rewrite (stands_total ts _ St). destruct (sum_z_value _ v S) as (_ & E). exact E.
Qed.

Lemma sum_between_sound : forall more ts l p y, Forall2 between ts l ->
  (forall q, more = Some q -> IZR (fst q) * fine <= total exact ts <= IZR (snd q) * fine) ->
  sum_between more l = Some p -> sum_run ts y -> within p y.
Proof.
  intros more ts l p y H M S R. unfold sum_between in S. destruct (sum_exact l) as [v |] eqn:E.
  - inversion S; subst p. apply within_point. exact (proj1 (sum_exact_sound ts l v y H E R)).
  - exact (sum_inside_sound more ts l p y H M S R).
Qed.

Lemma relu_z_sound : forall ts l v h g, Forall2 stands ts l -> relu_z l = Some v -> sum_run ts h -> relu h g -> g = number v.
Proof.
  intros ts l v h g H S R G. unfold relu_z in S. destruct (sum_z l) as [v' |] eqn:E.
  - rewrite (sum_z_sound ts l v' h H E R) in G. simpl in G. subst g. inversion S; subst v.
    unfold number, real. f_equal. pose proof (bpow_gt_0 radix2 (- k)).
    destruct (Z.max_spec v' 0) as [(L & ->) | (L & ->)].
    + rewrite Rmax_right; [ring |]. apply Rlt_le in H0. apply IZR_lt in L. nra.
    + rewrite Rmax_left; [reflexivity |]. apply IZR_le in L. nra.
  - destruct (sum_near (map point l)) as [(lo, hi) |] eqn:N; [| discriminate]. destruct (Z.leb_spec hi 0) as [B |]; [| discriminate].
    inversion S; subst v. destruct (sum_near_sound ts _ _ h (points_between ts l H) N R) as (r & -> & _ & Hi). simpl in G, Hi. subst g.
    unfold number. f_equal. replace (0 * pow2 (- k)) with 0 by ring. apply Rmax_right. apply IZR_le in B.
    pose proof (bpow_ge_0 radix2 (- k)). unfold real in Hi. nra.
Qed.

End Checker.
