(** Heads of attention: a softmax whose other scores are far below the largest one, and its average; the rows that are
    not read need not be known exactly. *)

From Coq Require Import Reals List ZArith Permutation Lra Lia Bool.
From Flocq Require Import Core.
From Float32 Require Import semantics exact_sums softmax checker layers.
Import ListNotations.
Open Scope R_scope.

Section Heads.

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
Notation within := (within k).
Notation sum_z := (sum_z f k c).
Notation row_is := (row_is k).
Notation products_stand := (products_stand k).
Notation given_stand := (given_stand f k k_fits).

Lemma one_is : one c = (2 ^ k)%Z. Proof. rewrite c_right. reflexivity. Qed.
Lemma distance_is : distance c = Z.shiftl far k.
Proof. rewrite c_right. cbn [distance constants_of]. rewrite Z.shiftl_mul_pow2; [reflexivity | apply k_fits]. Qed.
Lemma limit_is : limit c = (2 ^ precision f)%Z. Proof. rewrite c_right. reflexivity. Qed.

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
Definition columns_z (n : nat) (vs : list (list Z)) : list (list Z) := map (column_z vs) (seq 0 n).

(** The average of a column of values, by both ways: weights [W], or numerators [e] and division by [z]. *)
Definition average (e W : list Z) (z : Z) (values : list Z) : option Z :=
  match sum_z (products W values), sum_z (products e values) with
  | Some o, Some t => if (Z.shiftl t k =? o * z)%Z then Some o else None
  | _, _ => None
  end.

(** Numerators, weights and the sum of the numerators. *)
Definition softmax_z (ks : list (list Z)) (q : list Z) : option (list Z * list Z * Z) :=
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

(** *** Values *)

(** Values whose sum over all positions does not overflow, whatever their weights from 0 to 1. *)
Definition room (vs : list row) : Z := (safe f - 1 - Z.log2_up (Z.of_nat (length vs)))%Z.

(** A row of [n] values of at most this size. *)
Definition value_fits (n : nat) (bound : Z) (v : row) : bool :=
  match v with
  | Exact l => (length l =? n)%nat && forallb (fun a => Z.abs a <=? bound)%Z l
  | Near l => (length l =? n)%nat && forallb (fun p => (Z.abs (fst p) <=? bound) && (Z.abs (snd p) <=? bound))%Z l
  end.

Definition values_fit (n : nat) (vs : list row) : bool :=
  let bound := (2 ^ room vs)%Z in
  ((0 <=? room vs) && (Z.of_nat (length vs) <=? limit c))%Z && forallb (value_fits n bound) vs.

(** The reals of a row. *)
Definition reals_of (n : nat) (j : Z) (v : row) (r : list R) : Prop :=
  length r = n /\ Forall (fun x => Rabs x <= pow2 j) r /\ forall l, v = Exact l -> r = map real l.

Lemma real_between : forall a b r j, (0 <= j)%Z -> (Z.abs a <= 2 ^ j)%Z -> (Z.abs b <= 2 ^ j)%Z -> real a <= r <= real b -> Rabs r <= pow2 j.
Proof.
  intros a b r j J A B L. apply (real_small _ _ J) in A. apply (real_small _ _ J) in B. apply Rabs_le_inv in A, B. apply Rabs_le. lra.
Qed.

Lemma value_reals : forall n j v x, (0 <= j)%Z -> value_fits n (2 ^ j) v = true -> row_is v x ->
  exists r, x = map Some r /\ reals_of n j v r.
Proof.
  intros n j [l | l] x J F X; simpl in F, X; apply andb_prop in F; destruct F as (L & F); apply Nat.eqb_eq in L; rewrite forallb_forall in F.
  - exists (map real l). subst x. split; [rewrite map_map; apply map_ext; intro z; apply (number_real k) |].
    split; [rewrite map_length; exact L |]. split; [| intros l' E; inversion E; reflexivity].
    apply Forall_forall. intros y Y. apply in_map_iff in Y. destruct Y as (z & <- & I). apply real_small; [exact J | apply Z.leb_le, F, I].
  - assert (X' : exists r, x = map Some r /\ length r = length l /\ Forall (fun y => Rabs y <= pow2 j) r).
    { clear L. induction X as [| (a, b) y l x (r & -> & B) _ IH]; [exists []; repeat split; constructor |].
      destruct IH as (rs & -> & L & Fr). { intros p P. apply F. right. exact P. }
      exists (r :: rs). split; [reflexivity |]. split; [simpl; congruence |]. constructor; [| exact Fr].
      specialize (F (a, b) (or_introl eq_refl)). rewrite andb_true_iff, !Z.leb_le in F. destruct F as (A & Bd). exact (real_between a b r j J A Bd B). }
    destruct X' as (r & -> & L' & Fr). exists r. split; [reflexivity |]. split; [congruence |]. split; [exact Fr | discriminate].
Qed.

Lemma values_reals : forall n j vs xs, (0 <= j)%Z -> forallb (value_fits n (2 ^ j)) vs = true -> Forall2 row_is vs xs ->
  exists rs, xs = map (map Some) rs /\ Forall2 (reals_of n j) vs rs.
Proof.
  intros n j vs xs J F X. induction X as [| v x vs xs H _ IH]; [exists []; split; [reflexivity | constructor] |].
  simpl in F. apply andb_prop in F. destruct F as (Fv & F). destruct (IH F) as (rs & -> & R). destruct (value_reals n j v x J Fv H) as (r & -> & Rr).
  exists (r :: rs). split; [reflexivity | constructor; assumption].
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

(** The integers of the rows that are read; of another row nothing. *)
Fixpoint only_read (e : list Z) (vs : list row) : list (list Z) :=
  match e, vs with
  | a :: e, v :: vs => (if (a =? 0)%Z then [] else match v with Exact l => l | Near _ => [] end) :: only_read e vs
  | _, _ => []
  end.

(** The rows that are read are known exactly. *)
Definition readable (e : list Z) (vs : list row) : Prop := Forall2 (fun a v => a <> 0%Z -> exists l, v = Exact l) e vs.

(** The numbers of a list that are not 0, each behind the count of zeros before it. *)
Fixpoint gaps (zeros : nat) (e : list Z) : list (nat * Z) :=
  match e with
  | [] => []
  | Z0 :: e => gaps (S zeros) e
  | a :: e => (zeros, a) :: gaps 0 e
  end.

(** These numbers, each with its row. *)
Fixpoint read_rows (e : list (nat * Z)) (vs : list row) : option (list (Z * list Z)) :=
  match e with
  | [] => Some []
  | (zeros, a) :: e =>
      match skipn zeros vs with
      | Exact v :: vs => match read_rows e vs with Some l => Some ((a, v) :: l) | None => None end
      | _ => None
      end
  end.

Definition sum_read (read : list (Z * list Z)) (i : nat) : option Z := sum_z (products (map fst read) (column_z (map snd read) i)).

Lemma skipn_next : forall A n (l : list A) a m, skipn n l = a :: m -> skipn (S n) l = m.
Proof. induction n as [| n IH]; intros [| b l] a m H; try discriminate; [inversion H; reflexivity | exact (IH l a m H)]. Qed.

Lemma read_rows_spec : forall e zeros all_rows vs read, skipn zeros all_rows = vs -> length e = length vs ->
  read_rows (gaps zeros e) all_rows = Some read ->
  readable e vs /\ forall i, nonzero (products (map fst read) (column_z (map snd read) i)) = nonzero (products e (column_z (only_read e vs) i)).
Proof.
  induction e as [| a e IH]; intros zeros rows vs read S L H.
  - destruct vs; [| discriminate]. inversion H; subst read. split; [constructor | reflexivity].
  - destruct vs as [| v vs]; [discriminate |]. simpl in L. injection L as L. destruct (Z.eq_dec a 0) as [-> | A].
    + cbn [gaps] in H. destruct (IH (Datatypes.S zeros) rows vs read (skipn_next _ _ _ _ _ S) L H) as (R & E). split; [constructor; [contradiction | exact R] |].
      intro i. rewrite E. cbn [only_read column_z map products]. rewrite Z.mul_0_l. reflexivity.
    + assert (G : gaps zeros (a :: e) = (zeros, a) :: gaps 0 e) by (destruct a; [contradiction | reflexivity | reflexivity]).
      rewrite G in H. cbn [read_rows] in H. rewrite S in H. destruct v as [l | l]; [| discriminate].
      destruct (read_rows (gaps 0 e) vs) as [read' |] eqn:E; [| discriminate]. inversion H; subst read.
      destruct (IH 0%nat vs vs read' eq_refl L E) as (R & N). split; [constructor; [intros _; exists l; reflexivity | exact R] |].
      intro i. cbn [only_read map fst snd column_z products]. destruct (Z.eqb_spec a 0) as [| _]; [contradiction |]. unfold nonzero in *. cbn [filter].
      fold (column_z (map snd read') i). fold (column_z (only_read e vs) i). rewrite (N i). reflexivity.
Qed.

Lemma sum_read_is_sum : forall e vs read i, length e = length vs -> read_rows (gaps 0 e) vs = Some read ->
  sum_read read i = sum_z (products e (column_z (only_read e vs) i)).
Proof.
  intros e vs read i L H. destruct (read_rows_spec e 0 vs vs read eq_refl L H) as (_ & N). unfold sum_read.
  rewrite <- sum_z_nonzero, (N i), sum_z_nonzero. reflexivity.
Qed.

Lemma only_read_weights : forall w e vs, w <> 0%Z -> only_read (map (weight w) e) vs = only_read e vs.
Proof.
  intros w e vs W. revert vs. induction e as [| a e IH]; intros [| v vs]; simpl; [reflexivity.. |]. rewrite IH. f_equal. unfold weight.
  destruct (Z.eqb_spec a 0) as [-> | A]; [reflexivity |]. destruct (Z.eqb_spec w 0); [contradiction | reflexivity].
Qed.

(** *** Patterns *)

(** What remains of a softmax: numerators and weights that are not 0, and the sum of the numerators. *)
Definition pattern : Type := list (nat * Z) * list (nat * Z) * Z.

Definition pattern_z (ks : list (list Z)) (q : list Z) : option pattern :=
  match softmax_z ks q with Some (e, W, z) => Some (gaps 0 e, gaps 0 W, z) | None => None end.

(** The row that is read alone: its average is itself, where its numbers are small enough. *)
Definition alone_read (n : nat) (read : list (Z * list Z)) : option (list Z) :=
  match read with
  | [(a, v)] =>
      if (a =? one c)%Z && (length v =? n)%nat && forallb (fun b => Z.abs b <=? small c)%Z v then Some v else None
  | _ => None
  end.

(** The averages of [n] columns; if one row is read, both ways are one. *)
Definition averages (p : pattern) (n : nat) (vs : list row) : option (list Z) :=
  let '(e, W, z) := p in
  match read_rows e vs with
  | None => None
  | Some read =>
    if (z =? one c)%Z then match alone_read n read with Some v => Some v | None => all (sum_read read) (seq 0 n) end else
    match read_rows W vs with
    | None => None
    | Some weighted =>
        all (fun i => match sum_read weighted i, sum_read read i with
                      | Some o, Some t => if (Z.shiftl t k =? o * z)%Z then Some o else None
                      | _, _ => None end) (seq 0 n)
    end
  end.

Lemma softmax_spec : forall ks q e W z, softmax_z ks q = Some (e, W, z) -> exists s w,
  all (fun b => sum_z (products q b)) ks = Some s /\ all (numerator (largest s)) s = Some e /\
  sum_z (map (fun a => Z.shiftl a k) e) = Some z /\ W = map (weight w) e /\
  (0 < z)%Z /\ (w * z = one c * one c)%Z /\ (w <= limit c)%Z /\ s <> [] /\ w <> 0%Z.
Proof.
  intros ks q e W z H. unfold softmax_z in H.
  destruct (all (fun b => sum_z (products q b)) ks) as [s |] eqn:Es; [| discriminate].
  destruct (all (numerator (largest s)) s) as [e' |] eqn:Ee; [| discriminate].
  destruct (sum_z (map (fun a => Z.shiftl a k) e')) as [z' |] eqn:Ez; [| discriminate].
  set (w := Z.div (one c * one c) z') in H. cbv zeta in H. destruct (_ && _)%bool eqn:C in H; [| discriminate]. inversion H; subst e' z' W.
  rewrite !andb_true_iff, Z.ltb_lt, Z.eqb_eq, Z.leb_le, negb_true_iff, Nat.eqb_neq in C. destruct C as (((Zp & Wz) & Wl) & N).
  exists s, w. repeat split; try assumption.
  - intros X. apply N. rewrite X. reflexivity.
  - intros X. rewrite X in Wz. rewrite one_is in Wz. pose proof (Z.pow_pos_nonneg 2 k ltac:(lia) (k_pos f k k_fits)). nia.
Qed.

Lemma all_ext : forall A B (step g : A -> option B) l, (forall a, step a = g a) -> all step l = all g l.
Proof. intros A B step g l H. induction l as [| a l IH]; simpl; [reflexivity |]. rewrite H, IH. reflexivity. Qed.

(** The weight of one row alone is its numerator. *)
Lemma one_row : forall ks q e W, softmax_z ks q = Some (e, W, one c) -> W = e.
Proof.
  intros ks q e W H. destruct (softmax_spec _ _ _ _ _ H) as (s & w & _ & Ee & _ & -> & _ & Wz & _).
  assert (O : one c <> 0%Z). { rewrite one_is. apply Z.pow_nonzero; [lia | apply k_fits]. }
  apply Z.mul_reg_r in Wz; [| exact O]. subst w.
  assert (X : forall a, In a e -> weight (one c) a = a).
  { intros a I. destruct (all_in _ _ _ _ _ _ Ee I) as (x & _ & N). unfold weight.
    destruct (Z.eqb_spec a 0) as [-> | A]; [reflexivity |].
    destruct (numerator_spec _ _ _ N) as [(_ & ->) | (_ & E & _)]; [reflexivity | contradiction]. }
  transitivity (map (fun a => a) e); [apply map_ext_in; exact X | apply map_id].
Qed.

Lemma all_seq : forall (v : list Z) (step : nat -> option Z), (forall i, (i < length v)%nat -> step i = Some (nth i v 0%Z)) -> all step (seq 0 (length v)) = Some v.
Proof.
  intros v step H. assert (X : forall s w, (forall i, (i < length w)%nat -> step (s + i)%nat = Some (nth i w 0%Z)) -> all step (seq s (length w)) = Some w).
  { intros s w. revert s. induction w as [| b w IH]; intros s S; [reflexivity |]. cbn [length seq all].
    rewrite <- (Nat.add_0_r s) at 1. rewrite (S 0%nat ltac:(simpl; lia)). rewrite (IH (Datatypes.S s)); [reflexivity |].
    intros i I. rewrite Nat.add_succ_l, <- Nat.add_succ_r. apply (S (Datatypes.S i)). simpl. lia. }
  apply (X 0%nat v). exact H.
Qed.

Lemma alone_read_is : forall n read v, alone_read n read = Some v -> all (sum_read read) (seq 0 n) = Some v.
Proof.
  intros n [| (a, w) [| ? ?]] v H; try discriminate. cbn [alone_read] in H.
  destruct (_ && _)%bool eqn:E in H; [| discriminate]. inversion H; subst w. rewrite !andb_true_iff, Z.eqb_eq, Nat.eqb_eq in E. destruct E as ((-> & <-) & E).
  rewrite forallb_forall in E. apply all_seq. intros i I. specialize (E _ (nth_In v 0%Z I)). apply Z.leb_le in E. set (b := nth i v 0%Z) in *.
  pose proof (k_pos f k k_fits) as K. pose proof (p_pos f f_usable) as P.
  unfold sum_read. cbn [map fst snd column_z products]. fold b. unfold checker.sum_z. cbn [parts].
  rewrite (small_is f far k c c_right) in E. rewrite Z.shiftr_div_pow2 in E by exact K. assert (P0 : (0 < 2 ^ k)%Z) by (apply Z.pow_pos_nonneg; lia).
  assert (B : (Z.abs b * 2 ^ k <= limit c)%Z).
  { pose proof (Z.mul_div_le (limit c) (2 ^ k) P0). nia. }
  assert (L0 : (0 <= limit c)%Z) by nia.
  rewrite one_is.
  assert (V : forall p n, (p - n = 2 ^ k * b -> p <= limit c -> n <= limit c -> (if fits_in f k c [(2 ^ k * b)] p n
    then if Z.shiftl (Z.shiftr (p - n) k) k =? p - n then Some (Z.shiftr (p - n) k) else None else None) = Some b)%Z).
  { intros p m D Lp Ln. unfold fits_in. rewrite (proj2 (Z.leb_le p (limit c)) Lp), (proj2 (Z.leb_le m (limit c)) Ln). cbn [andb]. rewrite D.
    replace (2 ^ k * b)%Z with (Z.shiftl b k) by (rewrite Z.shiftl_mul_pow2 by exact K; ring).
    rewrite Z.shiftr_shiftl_l, Z.sub_diag, Z.shiftl_0_r, Z.eqb_refl by exact K. reflexivity. }
  destruct (2 ^ k * b)%Z as [| q | q] eqn:Q; cbv zeta; apply V; lia.
Qed.

Lemma averages_spec : forall ks q e W z n vs o, softmax_z ks q = Some (e, W, z) -> length vs = length ks ->
  averages (gaps 0 e, gaps 0 W, z) n vs = Some o ->
  readable e vs /\ all (average e W z) (columns_z n (only_read e vs)) = Some o.
Proof.
  intros ks q e W z n vs o H L A. unfold averages in A. destruct (softmax_spec _ _ _ _ _ H) as (s & w & Es & Ee & _ & EW & _ & _ & _ & _ & Wn).
  assert (Le : length e = length vs) by (rewrite (all_length _ _ _ _ _ Ee), (all_length _ _ _ _ _ Es); congruence).
  destruct (read_rows (gaps 0 e) vs) as [read |] eqn:R; [| discriminate].
  destruct (read_rows_spec e 0 vs vs read eq_refl Le R) as (Rd & _). split; [exact Rd |]. unfold columns_z.
  assert (M : forall l, all (average e W z) (map (column_z (only_read e vs)) l) = all (fun i => average e W z (column_z (only_read e vs) i)) l).
  { induction l as [| i l IH]; [reflexivity |]. simpl. rewrite IH. reflexivity. }
  rewrite M. destruct (Z.eqb_spec z (one c)) as [-> |].
  - assert (A' : all (sum_read read) (seq 0 n) = Some o).
    { destruct (alone_read n read) as [v |] eqn:Al; [| exact A]. inversion A; subst v. apply alone_read_is, Al. }
    rewrite <- A'. rewrite (one_row ks q e W H). apply all_ext. intro i. rewrite (sum_read_is_sum e vs read i Le R). unfold average.
    destruct (sum_z (products e (column_z (only_read e vs) i))) as [o' |]; [| reflexivity].
    rewrite one_is, Z.shiftl_mul_pow2, Z.eqb_refl by apply k_fits. reflexivity.
  - destruct (read_rows (gaps 0 W) vs) as [weighted |] eqn:Rw; [| discriminate]. rewrite <- A. apply all_ext. intro i.
    assert (Lw : length W = length vs) by (subst W; rewrite map_length; exact Le).
    rewrite (sum_read_is_sum e vs read i Le R), (sum_read_is_sum W vs weighted i Lw Rw). subst W. rewrite only_read_weights by exact Wn. reflexivity.
Qed.

(** *** The positions of a softmax, as softmax.v has them *)

Definition position_of (x : Z * list R) : position := (real (fst x), 1 :: snd x).

Lemma positions_read : forall s rs, combine (map number s) (map (cons (Some 1)) (map (map Some) rs)) = map as_read (map position_of (combine s rs)).
Proof.
  induction s as [| a s IH]; intros [| v rs]; simpl; [reflexivity.. |]. rewrite IH. reflexivity.
Qed.

(** What each position adds to a sum is the product of its numerator. *)
Lemma shares : forall m s e, all (numerator m) s = Some e -> forall rs ts i, length rs = length s ->
  Forall2 (fun p t => fst p <> 0%Z -> nth i (1 :: snd p) 0 = t) (combine e rs) ts ->
  Forall2 (fun x t => finite t /\ term t = share (real m) i x) (map position_of (combine s rs)) (combine (map number e) (map Some ts)).
Proof.
  intros m s. induction s as [| a s IH]; intros e H rs ts i L G; simpl in H.
  - inversion H; subst e. destruct rs; [constructor | discriminate].
  - destruct (numerator m a) as [b |] eqn:E; [| discriminate]. destruct (all (numerator m) s) as [e' |]; [| discriminate].
    inversion H; subst e. destruct rs as [| v rs]; [discriminate |]. cbn [combine] in G. inversion G as [| ? t ? ts' Gv G']; subst. cbn [combine map]. constructor.
    + split; [exact I |]. cbn [term semantics.number]. fold (real b). unfold share, position_of. cbn [fst snd] in *.
      destruct (numerator_spec m a b E) as [(-> & ->) | (N & -> & _)].
      * destruct (Req_EM_T (real m) (real m)) as [_ | D]; [| contradiction D; reflexivity]. rewrite real_one, Gv; [ring |].
        rewrite one_is. apply Z.pow_nonzero; [lia | apply k_fits].
      * destruct (Req_EM_T (real a) (real m)) as [D | _]; [apply real_inj in D; contradiction |]. rewrite real_0. ring.
    + apply (IH e' eq_refl); [simpl in L; congruence | exact G'].
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

Lemma related_length : forall A B (R : A -> B -> Prop) l m, Forall2 R l m -> length m = length l.
Proof. intros A B R l m H. induction H; simpl; congruence. Qed.

(** Rows of reals that are those of the integers wherever a numerator is not 0. *)
Definition matching (e : list Z) (rs : list (list R)) (vz : list (list Z)) : Prop :=
  Forall2 (fun p v => fst p <> 0%Z -> snd p = map real v) (combine e rs) vz.

Lemma matching_read : forall n j e vs rs, Forall2 (reals_of n j) vs rs -> readable e vs -> matching e rs (only_read e vs).
Proof.
  intros n j e vs rs H R. revert rs H. induction R as [| a v e vs Ra _ IH]; intros rs H; inversion H as [| ? r ? rs' (_ & _ & E) H']; subst; [constructor |].
  simpl. constructor; [| apply IH, H']. cbn [fst snd]. intro A. destruct (Ra A) as (l & ->). destruct (Z.eqb_spec a 0) as [| _]; [contradiction |]. exact (E l eq_refl).
Qed.

Lemma matching_column : forall e rs vz i, matching e rs vz ->
  Forall2 (fun p t => fst p <> 0%Z -> nth (S i) (1 :: snd p) 0 = t) (combine e rs) (map real (column_z vz i)).
Proof.
  intros e rs vz i H. induction H as [| p v l vz P _ IH]; simpl; constructor; [| exact IH].
  intro N. rewrite (P N). rewrite <- real_0 at 1. apply map_nth.
Qed.

Lemma matching_ones : forall e (rs : list (list R)), Forall2 (fun p t => fst p <> 0%Z -> nth 0 (1 :: snd p) 0 = t) (combine e rs) (map (fun _ => 1) (combine e rs)).
Proof. intros e rs. induction (combine e rs) as [| p l IH]; simpl; constructor; [reflexivity | exact IH]. Qed.

Lemma matching_terms : forall n j W vs rs vz i, Forall2 (reals_of n j) vs rs -> matching W rs vz -> length W = length rs -> (i < n)%nat ->
  Forall2 stands (combine (map number W) (column (map (map Some) rs) i)) (products W (column_z vz i)).
Proof.
  intros n j W vs rs vz i H. revert W vz. induction H as [| v r vs rs (Lr & _) _ IH]; intros [| w W] vz M L I; try discriminate; [constructor |].
  unfold matching in M. cbn [combine] in M. inversion M as [| ? z ? vz' P M']; subst. cbn [column column_z map combine products]. constructor.
  - rewrite (nth_indep (map Some r) None (Some 0)) by (rewrite map_length; exact I). rewrite map_nth. split; [exact Logic.I |].
    cbn [term semantics.number]. fold (real w). cbn [fst snd] in P. destruct (Z.eq_dec w 0) as [-> | N].
    + rewrite real_0, Z.mul_0_l. ring.
    + rewrite (P N). replace (nth i (map real z) 0) with (real (nth i z 0%Z)) by (rewrite <- real_0; symmetry; apply map_nth). apply (real_product k).
  - apply IH; [exact M' | simpl in L; congruence | exact I].
Qed.

(** What a head returns, from keys, values and query. *)
Definition head_z (ks : list (list Z)) (n : nat) (vs : list row) (q : list Z) : option (list Z) :=
  match pattern_z ks q with Some p => averages p n vs | None => None end.

(** Softmax and average, from scores and values on. *)
Lemma head_sound : forall ks vs n q o s xs ys, head_z ks n vs q = Some o -> length vs = length ks ->
  values_fit n vs = true -> Forall2 row_is vs xs ->
  Forall2 (fun b a => sum_run f (combine (map number q) b) a) (map (map number) ks) s ->
  softmax_run f exponential n s xs ys -> ys = map number o.
Proof.
  intros ks vs n q o s xs ys H Lv Fit Xs Hs (positions & m & z & t & Pe & Pr & Ho). unfold head_z, pattern_z in H.
  destruct (softmax_z ks q) as [((e', W'), z') |] eqn:Sm; [| discriminate].
  destruct (averages_spec ks q e' W' z' n vs o Sm Lv H) as (Rd & Av). clear H.
  destruct (softmax_spec _ _ _ _ _ Sm) as (s' & w & Es & Ee & Ez & EW & Zpos & W & Wl & N' & Wn). clear Sm. subst W'.
  unfold values_fit in Fit. cbv zeta in Fit. rewrite !andb_true_iff, !Z.leb_le in Fit. destruct Fit as ((R0 & Nl) & Fit). set (j := room vs) in *.
  destruct (values_reals n j vs xs R0 Fit Xs) as (rs & -> & Rs). clear Xs Fit.
  pose proof (matching_read n j e' vs rs Rs Rd) as Ma. set (vz := only_read e' vs) in *.
  pose proof (k_pos f k k_fits) as K0. pose proof (p_pos f f_usable) as P2.
  assert (s = map number s') as ->.
  { refine (all_run _ _ _ _ _ number _ _ _ Es _ (Forall2_pre _ _ _ _ _ _ _ Hs)). intros b v y _ S R.
    exact (sum_z_sound f f_usable k k_fits far c c_right _ _ _ _ (products_stand q b) S R). }
  assert (Lr : length rs = length vs) by (exact (related_length _ _ _ _ _ Rs)).
  assert (Ls : length rs = length s') by (rewrite (all_length _ _ _ _ _ Es); congruence).
  assert (Le : length e' = length rs) by (rewrite (all_length _ _ _ _ _ Ee); congruence).
  destruct (largest_spec s' N') as (Imax & Lmax). set (M := largest s') in *.
  (* the positions *)
  set (K := map position_of (combine s' rs)).
  assert (S0 : fitting_shares f (real M) K 0 /\ sum_of (share (real M) 0) K = real z').
  { apply (shares_fit (real M) 0 K (map given (map number e')) (map (fun a => Z.shiftl a k) e')); [| apply given_stand | exact Ez].
    pose proof (shares M s' e' Ee rs _ 0%nat Ls (matching_ones e' rs)) as Sh.
    replace (map given (map number e')) with (combine (map number e') (map Some (map (fun _ => 1) (combine e' rs)))); [exact Sh |].
    clear - Le. revert rs Le. induction e' as [| a e IH]; intros [| r rs] L; try discriminate; [reflexivity |]. simpl. f_equal. apply IH. simpl in L. congruence. }
  assert (Sc : forall i, (i < n)%nat -> exists t', sum_z (products e' (column_z vz i)) = Some t' /\
     fitting_shares f (real M) K (S i) /\ sum_of (share (real M) (S i)) K = real t').
  { intros i I. assert (X : exists x, average e' (map (weight w) e') z' (column_z vz i) = Some x).
    { apply (all_in_l _ _ _ _ _ _ Av). apply in_map_iff. exists i. split; [reflexivity | apply in_seq; lia]. }
    destruct X as (x & X). unfold average in X. destruct (sum_z (products (map (weight w) e') (column_z vz i))); [| discriminate].
    destruct (sum_z (products e' (column_z vz i))) as [t' |] eqn:Et; [| discriminate]. exists t'. split; [reflexivity |].
    apply (shares_fit (real M) (S i) K (combine (map number e') (map number (column_z vz i))) (products e' (column_z vz i))); [| apply products_stand | exact Et].
    pose proof (shares M s' e' Ee rs _ (S i) Ls (matching_column e' rs vz i Ma)) as Sh. rewrite map_map in Sh. exact Sh. }
  assert (G : good f far (real M) (S n) j K).
  { repeat split.
    - apply Forall_forall. intros x X. apply in_map_iff in X. destruct X as ((a, v) & <- & I). unfold apart, position_of. cbn [fst snd].
      pose proof (in_combine_l _ _ _ _ I) as Ia. pose proof (in_combine_r _ _ _ _ I) as Iv. destruct (all_in_l _ _ _ _ _ _ Ee Ia) as (b & Eb).
      destruct (Forall2_in_r _ _ _ _ _ _ Rs Iv) as (row & _ & Lrow & Brow & _). rewrite Forall_forall in Brow.
      pose proof (bpow_gt_0 radix2 (safe f)).
      split; [| split; [| split; [simpl; rewrite Lrow; reflexivity |]]].
      + destruct (numerator_spec M a b Eb) as [(-> & _) | (_ & _ & B & _)]; [left; reflexivity | right; exact B].
      + destruct (numerator_spec M a b Eb) as [(-> & _) | (_ & _ & _ & B)]; [lra | exact B].
      + intros [| i] Hi; cbn [nth].
        * rewrite Rabs_R1. change 1 with (pow2 0). apply bpow_le. exact R0.
        * apply Brow, nth_In. lia.
    - intros [| i] Hi; [apply S0 |]. destruct (Sc i ltac:(lia)) as (_ & _ & F & _). exact F.
    - unfold K. rewrite map_length, combine_length, <- Ls, Nat.min_id, Lr. rewrite limit_is in Nl. exact Nl.
    - unfold K. rewrite map_length, combine_length, <- Ls, Nat.min_id, Lr, INR_IZR_INZ.
      assert (Lg : (Z.of_nat (length vs) <= 2 ^ Z.log2_up (Z.of_nat (length vs)))%Z).
      { destruct (Z.eq_dec (Z.of_nat (length vs)) 0) as [-> | D]; [simpl; lia |].
        destruct (Z.eq_dec (Z.of_nat (length vs)) 1) as [-> | D1]; [reflexivity |]. apply Z.log2_up_spec. lia. }
      apply Rle_lt_trans with (IZR (2 ^ Z.log2_up (Z.of_nat (length vs))) * pow2 j).
      + apply Rmult_le_compat_r; [apply bpow_ge_0 | apply IZR_le, Lg].
      + rewrite <- pow2_IZR, <- bpow_plus by apply Z.log2_up_nonneg. apply bpow_lt. unfold j, room. lia. }
  assert (T : top (real M) K).
  { apply Exists_exists. destruct (In_nth _ _ 0%Z Imax) as (i & Hi & Ei). exists (position_of (M, nth i rs [])). split; [| reflexivity].
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
  { assert (Wp : (0 <= w)%Z) by (rewrite one_is in W; pose proof (Z.pow_nonneg 2 k ltac:(lia)); nia).
    rewrite limit_is in Wl.
    destruct k_fits as (_ & Low). destruct f_usable as (_ & Room & _).
    assert (Rabs (real w) <= pow2 (precision f + - k)).
    { rewrite Rabs_pos_eq by (rewrite <- real_0; apply real_le; assumption). rewrite bpow_plus.
      apply Rmult_le_compat_r; [apply bpow_ge_0 |]. rewrite pow2_IZR by lia. apply IZR_le, Wl. }
    split; [apply (held_multiple f f_usable); [unfold normal in Low; lia | assumption] |]. split; [| apply multiple_not_tiny; lia].
    eapply Rle_lt_trans; [eassumption |]. apply bpow_lt. lia. }
  destruct Ho as [Ho | (d & e & ws & Hd & He & Hw & Ho)].
  - assert (Ln : length t = n) by exact (eq_add_S _ _ Lt).
    assert (Tn : t = map number (map (fun i => match sum_z (products e' (column_z vz i)) with Some x => x | None => 0%Z end) (seq 0 n))).
    { apply (nth_ext _ _ None None).
      - rewrite !map_length, seq_length. exact Ln.
      - intros i Hi. assert (Hn : (i < n)%nat) by (rewrite <- Ln; exact Hi). destruct (Sc i Hn) as (t' & E1 & _ & E2).
        transitivity (Some (sum_of (share (real M) (S i)) K')); [exact (Et (S i) ltac:(lia)) |].
        rewrite <- (sum_of_permutation _ _ _ _ PK), E2.
        rewrite (nth_indep (map number _) None (number 0)) by (rewrite !map_length, seq_length; exact Hn).
        rewrite map_nth. rewrite (nth_indep _ 0%Z ((fun i => match sum_z (products e' (column_z vz i)) with Some x => x | None => 0%Z end) 0%nat)) by (rewrite map_length, seq_length; exact Hn).
        rewrite (map_nth (fun i => match sum_z (products e' (column_z vz i)) with Some x => x | None => 0%Z end)), seq_nth by exact Hn. simpl. rewrite E1. reflexivity. }
    rewrite Tn in Ho. clear Tn Et Is. rewrite !map_map in Ho. apply Forall2_pre in Ho. unfold columns_z in Av.
    assert (H' : all (fun i => average e' (map (weight w) e') z' (column_z vz i)) (seq 0 n) = Some o).
    { clear - Av. revert o Av. induction (seq 0 n) as [| i l IH]; intros o Av; simpl in *; [exact Av |].
      destruct (average e' (map (weight w) e') z' (column_z vz i)); [| discriminate].
      destruct (all (average e' (map (weight w) e') z') (map (column_z vz) l)) as [o' |] eqn:E; [| discriminate]. rewrite (IH o' eq_refl). exact Av. }
    refine (all_run _ _ _ _ _ number _ _ _ H' _ Ho). intros i v y _ S D. unfold average in S.
    destruct (sum_z (products (map (weight w) e') (column_z vz i))) as [o' |] eqn:E1; [| discriminate].
    destruct (sum_z (products e' (column_z vz i))) as [t' |] eqn:E2; [| discriminate].
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
    unfold columns in Ho. unfold columns_z in Av.
    assert (Av' : all (fun i => average e' (map (weight w) e') z' (column_z vz i)) (seq 0 n) = Some o).
    { clear - Av. revert o Av. induction (seq 0 n) as [| i l IH]; intros o Av; simpl in *; [exact Av |].
      destruct (average e' (map (weight w) e') z' (column_z vz i)); [| discriminate].
      destruct (all (average e' (map (weight w) e') z') (map (column_z vz) l)) as [o' |] eqn:E; [| discriminate]. rewrite (IH o' eq_refl). exact Av. }
    apply Forall2_pre in Ho.
    refine (all_run _ _ _ _ _ number _ _ _ Av' _ Ho). intros i v y I S X. apply in_seq in I. unfold average in S.
    destruct (sum_z (products (map (weight w) e') (column_z vz i))) as [o' |] eqn:E1; [| discriminate].
    destruct (sum_z (products e' (column_z vz i))) as [t' |] eqn:E2; [| discriminate].
    destruct (Z.shiftl t' k =? o' * z')%Z; [| discriminate]. inversion S; subst v.
    refine (sum_z_sound f f_usable k k_fits far c c_right _ _ _ _ (matching_terms n j _ vs rs vz i Rs _ _ ltac:(lia)) E1 X).
    + pose proof (matching_read n j (map (weight w) e') vs rs Rs) as Mw. rewrite only_read_weights in Mw by exact Wn. apply Mw.
      clear - Rd. induction Rd as [| a v e vs Ra _ IH]; simpl; constructor; [| exact IH]. intro D. apply Ra. intros ->. apply D. reflexivity.
    + rewrite map_length. exact Le.
Qed.

End Heads.
