(** Rows of a stream, and layers of neurons: what the checker computes of them is what every run returns, or near it. *)

From Coq Require Import Reals List ZArith Permutation Lra Lia Bool.
From Flocq Require Import Core.
From Float32 Require Import semantics exact_sums softmax checker.
Import ListNotations.
Open Scope R_scope.

Section Layers.

Variable f : format.
Hypothesis f_usable : usable f.
Variable far : Z.
Variable k : Z.
Hypothesis k_fits : scale_fits f k.
Variable c : constants.
Hypothesis c_right : c = constants_of f far k.

Notation number := (number k).
Notation real := (real k).
Notation stands := (stands k).
Notation between := (between k).
Notation within := (within k).
Notation sum_z := (sum_z f k c).
Notation relu_z := (relu_z f k c).
Notation sum_between := (sum_between f k c).

(** *** Exact layers *)

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
  | _ :: x, Z0 :: w => add_products x w p n
  | a :: x, b :: w => let (p, n) := add_term (b * a)%Z p n in add_products x w p n
  | _, _ => (p, n)
  end.

Fixpoint add_given (l : list Z) (p n : Z) : Z * Z :=
  match l with [] => (p, n) | a :: l => let (p, n) := add_term (Z.shiftl a k) p n in add_given l p n end.

(** [z] without its last [n] bits, if these are 0. *)
Fixpoint halved (n : nat) (p : positive) : option positive :=
  match n, p with O, _ => Some p | S n, xO p => halved n p | _, _ => None end.
Definition divided (n : nat) (z : Z) : option Z :=
  match z with
  | Z0 => Some 0%Z
  | Zpos p => match halved n p with Some q => Some (Zpos q) | None => None end
  | Zneg p => match halved n p with Some q => Some (Zneg q) | None => None end
  end.

Lemma halved_is : forall n p q, halved n p = Some q -> (Zpos p = Zpos q * 2 ^ Z.of_nat n)%Z.
Proof.
  induction n as [| n IH]; intros p q H; [simpl in H; inversion H; change (2 ^ Z.of_nat 0)%Z with 1%Z; lia |].
  destruct p as [p | p |]; try discriminate. cbn [halved] in H. specialize (IH p q H).
  rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. rewrite Pos2Z.inj_xO, IH. ring.
Qed.

Lemma divided_is : forall z v, divided (Z.to_nat k) z = Some v -> z = Z.shiftl v k.
Proof.
  intros z v H. pose proof (k_pos f k k_fits) as K. rewrite Z.shiftl_mul_pow2 by exact K. rewrite <- (Z2Nat.id k K).
  destruct z as [| p | p]; simpl in H.
  - inversion H; subst. reflexivity.
  - destruct (halved (Z.to_nat k) p) as [q |] eqn:E; [| discriminate]. inversion H; subst. apply halved_is, E.
  - destruct (halved (Z.to_nat k) p) as [q |] eqn:E; [| discriminate]. inversion H; subst. apply halved_is in E.
    rewrite <- !Pos2Z.opp_pos, E. ring.
Qed.

Lemma small_is : small c = Z.shiftr (limit c) k. Proof. rewrite c_right. reflexivity. Qed.

(** A number that stands alone in its sum and is small enough. *)
Definition stands_alone (p m : Z) (given : list Z) : option Z :=
  match p, m, given with 0%Z, 0%Z, [a] => if (Z.abs a <=? small c)%Z then Some a else None | _, _, _ => None end.

(** A neuron, behind ReLU or not. *)
Definition neuron_z (behind : bool) (x : list Z) (n : neuron * list Z) : option Z :=
  let (p, m) := add_products x (reads (fst n)) 0 0 in
  match stands_alone p m (shift (fst n) ++ snd n) with
  | Some v => Some (if behind then Z.max v 0 else v)
  | None =>
    let (p, m) := add_given (shift (fst n)) p m in
    let (p, m) := add_given (snd n) p m in
    match (if ((p <=? limit c) && (m <=? limit c))%Z then divided (places c) (p - m) else None) with
    | Some v => Some (if behind then Z.max v 0 else v)
    | None => if behind then relu_z (terms x n) else sum_z (terms x n)
    end
  end.

Lemma add_term_is : forall t l p n, let (p', n') := add_term t p n in
  (p' + fst (parts l) = p + fst (parts (t :: l)) /\ n' + snd (parts l) = n + snd (parts (t :: l)))%Z.
Proof. intros t l p n. cbn [parts]. destruct (parts l) as (a, b), t; cbn [add_term fst snd]; lia. Qed.

Lemma add_products_is : forall x w l p n, let (p', n') := add_products x w p n in
  (p' + fst (parts l) = p + fst (parts (products x w ++ l)) /\ n' + snd (parts l) = n + snd (parts (products x w ++ l)))%Z.
Proof.
  induction x as [| a x IH]; intros [| b w] l p n; cbn [products app]; try (cbn [add_products]; lia).
  assert (E : add_products (a :: x) (b :: w) p n = let (p, n) := add_term (a * b)%Z p n in add_products x w p n).
  { rewrite (Z.mul_comm a b). destruct b; reflexivity. }
  rewrite E. clear E.
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

Lemma stands_alone_is : forall x n v p m, add_products x (reads (fst n)) 0 0 = (p, m) ->
  stands_alone p m (shift (fst n) ++ snd n) = Some v -> sum_z (terms x n) = Some v.
Proof.
  intros x n v p m A H. pose proof (k_pos f k k_fits) as K. unfold terms. destruct p, m; try discriminate. destruct (shift (fst n) ++ snd n) as [| a [| ? ?]]; try discriminate.
  cbn [stands_alone] in H. destruct (Z.leb_spec (Z.abs a) (small c)) as [L |]; [| discriminate]. inversion H; subst v.
  pose proof (add_products_is x (reads (fst n)) (map (fun z => Z.shiftl z k) [a]) 0 0) as B. rewrite A in B. cbn [map] in *.
  rewrite small_is, Z.shiftr_div_pow2 in L by exact K. assert (P0 : (0 < 2 ^ k)%Z) by (apply Z.pow_pos_nonneg; lia).
  pose proof (Z.mul_div_le (limit c) (2 ^ k) P0) as D.
  assert (F : (Z.abs (Z.shiftl a k) <= limit c)%Z) by (rewrite Z.shiftl_mul_pow2 by exact K; nia).
  unfold checker.sum_z. destruct (parts (products x (reads (fst n)) ++ [Z.shiftl a k])) as (p, m). cbn [fst snd] in B.
  assert (E : (p - m = Z.shiftl a k /\ p <= limit c /\ m <= limit c)%Z).
  { destruct (Z.shiftl a k) as [| q | q]; cbn [parts fst snd] in B; lia. }
  destruct E as (E & Lp & Lm). unfold fits_in. rewrite (proj2 (Z.leb_le p (limit c)) Lp), (proj2 (Z.leb_le m (limit c)) Lm). cbn [andb].
  rewrite E, Z.shiftr_shiftl_l, Z.sub_diag, Z.shiftl_0_r, Z.eqb_refl by exact K. reflexivity.
Qed.

Lemma neuron_z_is : forall behind x n, neuron_z behind x n = if behind then relu_z (terms x n) else sum_z (terms x n).
Proof.
  intros behind x n. unfold neuron_z.
  pose proof (add_products_is x (reads (fst n)) (map (fun z => Z.shiftl z k) (shift (fst n) ++ snd n)) 0 0) as A.
  destruct (add_products x (reads (fst n)) 0 0) as (p1, m1) eqn:First.
  destruct (stands_alone p1 m1 (shift (fst n) ++ snd n)) as [v |] eqn:Alone.
  { pose proof (stands_alone_is x n v p1 m1 First Alone) as S. destruct behind; [unfold checker.relu_z |]; rewrite S; reflexivity. }
  pose proof (add_given_is (shift (fst n)) (map (fun z => Z.shiftl z k) (snd n)) p1 m1) as B. rewrite map_app in A.
  destruct (add_given (shift (fst n)) p1 m1) as (p2, m2).
  pose proof (add_given_is (snd n) [] p2 m2) as C. rewrite app_nil_r in C. destruct (add_given (snd n) p2 m2) as (p, m).
  assert (P : parts (terms x n) = (p, m)).
  { unfold terms. rewrite map_app. cbn [parts fst snd] in C. destruct (parts (products x (reads (fst n)) ++ _)) as (u, v). cbn [fst snd] in *. f_equal; lia. }
  clear A B C. destruct ((p <=? limit c) && (m <=? limit c))%Z eqn:L; [| reflexivity].
  destruct (divided (places c) (p - m)) as [v |] eqn:V; [| reflexivity]. rewrite c_right in V. cbn [places constants_of] in V. apply divided_is in V.
  pose proof (k_pos f k k_fits) as K.
  assert (S : sum_z (terms x n) = Some v).
  { unfold checker.sum_z. rewrite P. unfold fits_in. rewrite L. cbv zeta. rewrite V, Z.shiftr_shiftl_l, Z.sub_diag, Z.shiftl_0_r, Z.eqb_refl by exact K. reflexivity. }
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

(** *** Rows *)

(** What is known of a row: the integers that every run returns, or intervals that hold what it returns. *)
Inductive row := Exact (l : list Z) | Near (l : list interval).

Definition row_is (r : row) (x : list num) : Prop :=
  match r with Exact l => x = map number l | Near l => Forall2 within l x end.

Definition intervals (r : row) : list interval := match r with Exact l => map point l | Near l => l end.

(** Exact again where all intervals are points. *)
Definition settled (l : list interval) : row := if forallb is_point l then Exact (map fst l) else Near l.

Lemma points_within : forall l, Forall2 within (map point l) (map number l).
Proof. induction l as [| z l IH]; simpl; constructor; [apply (within_point k); reflexivity | exact IH]. Qed.

Lemma intervals_hold : forall r x, row_is r x -> Forall2 within (intervals r) x.
Proof. intros [l | l] x H; [simpl in *; subst x; apply points_within | exact H]. Qed.

Lemma settled_is : forall l x, Forall2 within l x -> row_is (settled l) x.
Proof.
  intros l x H. unfold settled. destruct (forallb is_point l) eqn:P; [| exact H]. simpl.
  induction H as [| (a, b) y l x (r & -> & L) _ IH]; [reflexivity |]. simpl in P. apply andb_prop in P. destruct P as (E & P).
  apply Z.eqb_eq in E. cbn [fst snd] in *. subst b. cbn [map fst]. rewrite <- (IH P). f_equal. unfold semantics.number. f_equal. unfold checker.real in L. lra.
Qed.

(** *** Layers of which something is near *)

Definition product_near (p : interval) (w : Z) : interval :=
  (if 0 <=? w then (w * fst p, w * snd p) else (w * snd p, w * fst p))%Z.

Fixpoint products_near (x : list interval) (w : list Z) : list interval :=
  match x, w with p :: x, b :: w => product_near p b :: products_near x w | _, _ => [] end.

Definition shifted (p : interval) : interval := (Z.shiftl (fst p) k, Z.shiftl (snd p) k).

Definition terms_near (x : list interval) (n : neuron * list interval) : list interval :=
  products_near x (reads (fst n)) ++ map shifted (map point (shift (fst n)) ++ snd n).

Definition neuron_near (x : list interval) (n : neuron * list interval) : option interval := sum_between None (terms_near x n).

Definition linear_near (ns : list neuron) (also : list (list interval)) (x : list interval) : option (list interval) :=
  all (neuron_near x) (combine ns also).

Lemma product_near_holds : forall p a w, within p a -> between (a, number w) (product_near p w).
Proof.
  intros (a, b) y w (r & -> & L). cbn [fst snd] in L. split; [exact I |]. cbn [term semantics.number]. fold (real w).
  assert (P : forall z, IZR (w * z) * fine k = real z * real w) by (intro z; rewrite (real_product k); f_equal; f_equal; ring).
  unfold product_near. cbn [fst snd]. destruct (Z.leb_spec 0 w) as [W | W]; cbn [fst snd]; rewrite !P.
  - assert (0 <= real w) by (apply Rmult_le_pos; [apply IZR_le, W | apply bpow_ge_0]). split; apply Rmult_le_compat_r; lra.
  - assert (real w <= 0). { apply IZR_lt in W. unfold checker.real. pose proof (bpow_ge_0 radix2 (- k)). nra. } split; nra.
Qed.

Lemma products_near_hold : forall l x w, Forall2 within l x -> Forall2 between (combine x (map number w)) (products_near l w).
Proof.
  intros l x w H. revert w. induction H as [| p y l x P _ IH]; intros [| b w]; simpl; constructor; [apply product_near_holds, P | apply IH].
Qed.

Lemma given_near : forall l x, Forall2 within l x -> Forall2 between (map given x) (map shifted l).
Proof.
  intros l x H. induction H as [| p y l x (r & -> & L) _ IH]; simpl; constructor; [| exact IH]. split; [exact I |].
  cbn [term given shifted fst snd]. rewrite Rmult_1_r, <- !(real_shifted f k k_fits). exact L.
Qed.

Lemma terms_near_hold : forall l x n also more, Forall2 within l x -> Forall2 within more also -> Forall2 between
  (combine x (map number (reads n)) ++ map given (map number (shift n) ++ also)) (terms_near l (n, more)).
Proof.
  intros l x n also more H M. unfold terms_near. cbn [fst snd]. apply Forall2_app; [apply products_near_hold, H |].
  apply given_near, Forall2_app; [apply points_within | exact M].
Qed.

Lemma relu_within : forall a b y z, within (a, b) y -> relu y z -> within (Z.max a 0, Z.max b 0)%Z z.
Proof.
  intros a b y z (r & -> & L) R. simpl in R. subst z. exists (Rmax r 0). split; [reflexivity |]. cbn [fst snd] in *.
  assert (M : forall z, real (Z.max z 0) = Rmax (real z) 0).
  { intro z. unfold checker.real. pose proof (bpow_ge_0 radix2 (- k)). destruct (Z.max_spec z 0) as [(Z0 & ->) | (Z0 & ->)].
    - apply IZR_lt in Z0. rewrite Rmax_right; [ring | nra].
    - apply IZR_le in Z0. rewrite Rmax_left; [reflexivity | nra]. }
  rewrite !M. unfold Rmax. repeat destruct Rle_dec; lra.
Qed.

(** What stands beside the neurons, of intervals and of a run. *)
Definition beside (more : list (list interval)) (also : list (list num)) : Prop := Forall2 (Forall2 within) more also.

Lemma combine_related : forall A B C (R : B -> C -> Prop) (ns : list A) m l,
  Forall2 R m l -> Forall2 (fun a b => fst a = fst b /\ R (snd a) (snd b)) (combine ns m) (combine ns l).
Proof.
  intros A B C R ns m l H. revert ns. induction H as [| b y m l Hb _ IH]; intros [| a ns]; simpl; constructor; [split; [reflexivity | exact Hb] | apply IH].
Qed.

Lemma linear_near_sound : forall ns more also l x p ys, linear_near ns more l = Some p -> Forall2 within l x -> beside more also ->
  linear_run f k ns also x ys -> Forall2 within p ys.
Proof.
  intros ns more also l x p ys H X M R. unfold linear_run in R. pose proof (compose _ _ _ _ _ _ _ _ (combine_related _ _ _ _ ns _ _ M) R) as C.
  refine (all_related _ _ _ _ _ _ _ _ _ H _ C). intros (n, m) q y _ S ((n', also') & (E & B) & W). cbn [fst snd] in *. subst n'.
  exact (sum_between_sound f f_usable k k_fits far c c_right None _ _ _ _ (terms_near_hold _ _ _ _ _ X B) ltac:(discriminate) S W).
Qed.

Definition alone_near (ns : list neuron) : list (list interval) := map (fun _ => []) ns.
Definition skipping_near (skip : bool) (ns : list neuron) (x : list interval) : list (list interval) :=
  if skip then map (fun p => [p]) x else alone_near ns.

Lemma alone_beside : forall ns, beside (alone_near ns) (alone ns).
Proof. induction ns as [| n ns IH]; simpl; constructor; [constructor | exact IH]. Qed.

Lemma skipping_beside : forall skip ns l x, Forall2 within l x -> beside (skipping_near skip ns l) (skipping skip ns x).
Proof.
  intros [|] ns l x H; [| apply alone_beside]. simpl. induction H as [| p y l x P _ IH]; simpl; constructor; [| exact IH].
  constructor; [exact P | constructor].
Qed.

(** *** Rows that are mapped, exactly where that can be *)

Definition exactly (step : list Z -> option (list Z)) (r : row) : option row :=
  match r with Exact x => match step x with Some y => Some (Exact y) | None => None end | Near _ => None end.

Definition or_near (y : option row) (near : list interval -> option (list interval)) (r : row) : option row :=
  match y with
  | Some y => Some y
  | None => match near (intervals r) with Some l => Some (settled l) | None => None end
  end.

(** A map without anything beside it. *)
Definition map_row (ns : list neuron) (r : row) : option row :=
  or_near (exactly (linear_z false ns (alone_z ns)) r) (linear_near ns (alone_near ns)) r.

Lemma exactly_sound : forall (run : list num -> list num -> Prop) step r r' x ys,
  (forall x y ys, step x = Some y -> run (map number x) ys -> ys = map number y) ->
  exactly step r = Some r' -> row_is r x -> run x ys -> row_is r' ys.
Proof.
  intros run step [l | l] r' x ys S E X R; simpl in E; [| discriminate]. destruct (step l) as [y |] eqn:Y; [| discriminate].
  inversion E; subst r'. simpl in X. subst x. exact (S l y ys Y R).
Qed.

Lemma or_near_sound : forall (run : list num -> list num -> Prop) step near r r' x ys,
  (forall x y ys, step x = Some y -> run (map number x) ys -> ys = map number y) ->
  (forall l p x ys, near l = Some p -> Forall2 within l x -> run x ys -> Forall2 within p ys) ->
  or_near (exactly step r) near r = Some r' -> row_is r x -> run x ys -> row_is r' ys.
Proof.
  intros run step near r r' x ys S N E X R. unfold or_near in E. destruct (exactly step r) as [y |] eqn:Y.
  - inversion E; subst r'. exact (exactly_sound run step r y x ys S Y X R).
  - destruct (near (intervals r)) as [p |] eqn:P; [| discriminate]. inversion E; subst r'. apply settled_is.
    exact (N _ _ _ _ P (intervals_hold r x X) R).
Qed.

Lemma map_row_sound : forall ns r r' x ys, map_row ns r = Some r' -> row_is r x -> linear_run f k ns (alone ns) x ys -> row_is r' ys.
Proof.
  intros ns r r' x ys H X R. refine (or_near_sound (linear_run f k ns (alone ns)) _ _ r r' x ys _ _ H X R).
  - intros l y zs S W. rewrite alone_number in W. exact (linear_sound _ _ _ _ _ S W).
  - intros l p y zs S W. exact (linear_near_sound ns _ _ l y p zs S W (alone_beside ns)).
Qed.

(** *** Neurons that read the same *)

(** A hidden neuron that is near: between which numbers it is, and how far its sum may be from the exact one. *)
Definition hidden_neuron (x : list interval) (n : neuron) : option (interval * Z) :=
  let l := terms_near x (n, []) in
  match sum_exact f k c l with
  | Some v => Some (point (Z.max v 0), 0%Z)
  | None => match sum_near f k c l, error_z f k c l with Some (a, b), Some e => Some ((Z.max a 0, Z.max b 0)%Z, e) | _, _ => None end
  end.

Definition shift_sum (n : neuron) : Z := fold_right Z.add 0%Z (shift n).

(** Between which numbers the difference of two neurons is that read the same: that of their shifts, but for rounding, or
    nearer to 0, as ReLU is monotone and not steep. *)
Definition difference (n n' : neuron) (e e' : Z) : option interval :=
  if forallb (fun p => fst p =? snd p)%Z (combine (reads n) (reads n')) && (length (reads n) =? length (reads n'))%nat then
    let d := (shift_sum n - shift_sum n')%Z in let r := (Z.shiftr (e + e') k + 1)%Z in
    Some (Z.min 0 (d - r), Z.max 0 (d + r))%Z
  else None.

(** Hidden neurons, each with its difference to the next one. *)
Definition hidden : Type := list (interval * option interval).
Fixpoint differences (ns : list neuron) (hs : list (interval * Z)) : hidden :=
  match ns, hs with
  | n :: ns', (p, e) :: hs' =>
      (p, match ns', hs' with n' :: _, (_, e') :: _ => difference n n' e e' | _, _ => None end) :: differences ns' hs'
  | _, _ => []
  end.

(** Between which numbers, in units [fine], the products of hidden neurons with [o] add up, [sum] of the weights before them
    having been put off to the first: summed by parts, so that neurons that read the same count by their differences. *)
Fixpoint by_parts (hs : hidden) (o : list Z) (sum : Z) : interval :=
  match hs with
  | [] => (0, 0)%Z
  | (p, d) :: hs =>
      let w := (sum + hd 0 o)%Z in
      let q := product_near (match d with Some d => d | None => p end) w in
      let r := by_parts hs (tl o) (match d with Some _ => w | None => 0%Z end) in
      (fst q + fst r, snd q + snd r)%Z
  end.

Definition output_near (hs : hidden) (n : neuron * list interval) : option interval :=
  let q := by_parts hs (reads (fst n)) 0 in
  let '(lo, hi, _) := ends (map shifted (map point (shift (fst n)) ++ snd n)) in
  sum_between (Some (fst q + lo, snd q + hi)%Z) (terms_near (map fst hs) n).

Definition feed_forward_near (W_in W_out : list neuron) (skip : bool) (x : list interval) : option (list interval) :=
  match all (hidden_neuron x) W_in with
  | None => None
  | Some hs => all (output_near (differences W_in hs)) (combine W_out (skipping_near skip W_out x))
  end.

(** What is true of hidden neurons in a run. *)
Fixpoint hidden_is (hs : hidden) (ys : list num) : Prop :=
  match hs, ys with
  | [], [] => True
  | (p, d) :: hs, y :: ys =>
      within p y /\ (forall q, d = Some q -> exists r r' ys', y = Some r /\ ys = Some r' :: ys' /\ real (fst q) <= r - r' <= real (snd q)) /\
      hidden_is hs ys
  | _, _ => False
  end.

Definition first_of (ys : list num) : R := match ys with Some r :: _ => r | _ => 0 end.

Lemma product_bounds : forall a b r w, real a <= r <= real b ->
  IZR (fst (product_near (a, b) w)) * fine k <= real w * r <= IZR (snd (product_near (a, b) w)) * fine k.
Proof.
  intros a b r w L. destruct (product_near_holds (a, b) (Some r) w) as (_ & H); [exists r; split; [reflexivity | exact L] |].
  cbn [term semantics.number] in H. fold (real w) in H. lra.
Qed.

Lemma by_parts_holds : forall hs ys, hidden_is hs ys -> forall o sum,
  IZR (fst (by_parts hs o sum)) * fine k <= real sum * first_of ys + total exact (combine ys (map number o)) <= IZR (snd (by_parts hs o sum)) * fine k.
Proof.
  assert (R0 : real 0 = 0) by (unfold checker.real; ring).
  induction hs as [| (p, d) hs IH]; intros [| y ys] H o sum; try contradiction.
  - simpl. rewrite !Rmult_0_l, Rmult_0_r. lra.
  - destruct H as ((r & -> & P) & D & H). set (w := (sum + hd 0 o)%Z).
    assert (E : real sum * first_of (Some r :: ys) + total exact (combine (Some r :: ys) (map number o)) = real w * r + total exact (combine ys (map number (tl o)))).
    { unfold w. destruct o as [| b o]; cbn [hd tl map combine first_of].
      - rewrite Z.add_0_r. destruct ys; unfold total; simpl; ring.
      - change (total exact ((Some r, number b) :: combine ys (map number o))) with (r * real b + total exact (combine ys (map number o))).
        replace (real (sum + b)) with (real sum + real b) by (unfold checker.real; rewrite plus_IZR; ring). ring. }
    match goal with |- _ <= ?t <= _ => replace t with (real w * r + total exact (combine ys (map number (tl o)))) by (symmetry; exact E) end.
    cbn [by_parts]. fold w. cbn [fst snd]. rewrite !plus_IZR, !Rmult_plus_distr_r.
    destruct d as [(a, b) |].
    + destruct (D (a, b) eq_refl) as (r1 & r' & ys' & E1 & -> & B). inversion E1; subst r1. cbn [fst snd] in B.
      pose proof (product_bounds a b (r - r') w B) as Q. specialize (IH (Some r' :: ys') H (tl o) w). cbn [first_of] in IH.
      replace (real w * r) with (real w * (r - r') + real w * r') by ring. lra.
    + destruct p as (a, b). cbn [fst snd] in P. pose proof (product_bounds a b r w P) as Q. specialize (IH ys H (tl o) 0%Z). rewrite R0, Rmult_0_l in IH. lra.
Qed.

(** What a hidden neuron is, and its sum before ReLU. *)
Lemma hidden_neuron_sound : forall l x n p e h g, Forall2 within l x -> hidden_neuron l n = Some (p, e) ->
  neuron_run f k x (n, []) h -> relu h g -> within p g /\
  exists a, h = Some a /\ Rabs (a - total exact (combine x (map number (reads n)) ++ map given (map number (shift n)))) <= IZR e * fine k.
Proof.
  intros l x n p e h g X H R G. pose proof (terms_near_hold l x n [] [] X (Forall2_nil _)) as T. rewrite app_nil_r in T.
  unfold neuron_run in R. cbn [fst snd] in R. rewrite app_nil_r in R. unfold hidden_neuron in H. cbv zeta in H.
  destruct (sum_exact f k c (terms_near l (n, []))) as [v |] eqn:E.
  - inversion H; subst p e. destruct (sum_exact_sound f f_usable k k_fits far c c_right _ _ v h T E R) as (-> & Tv). split.
    + apply (relu_within v v (number v) g); [apply (within_point k); reflexivity | exact G].
    + exists (real v). split; [reflexivity |]. rewrite Tv, Rmult_0_l, Rminus_diag_eq, Rabs_R0 by reflexivity. lra.
  - destruct (sum_near f k c (terms_near l (n, []))) as [(a, b) |] eqn:N; [| discriminate].
    destruct (error_z f k c (terms_near l (n, []))) as [e' |] eqn:Er; [| discriminate]. inversion H; subst p e. split.
    + exact (relu_within a b h g (sum_near_sound f f_usable k k_fits far c c_right _ _ _ _ T N R) G).
    + destruct (error_sound f f_usable k k_fits far c c_right _ _ _ _ T Er R) as (r & -> & B). exists r. split; [reflexivity | exact B].
Qed.

Lemma shift_total : forall n, total exact (map given (map number (shift n))) = real (shift_sum n).
Proof.
  intro n. unfold shift_sum. induction (shift n) as [| a l IH]; [unfold checker.real; simpl; ring |].
  cbn [map total fold_right]. fold (total exact (map given (map number l))). rewrite IH. unfold exact. cbn [term given semantics.number].
  unfold checker.real. rewrite plus_IZR. ring.
Qed.

Lemma difference_holds : forall n n' e e' q a a' r r' x, difference n n' e e' = Some q ->
  Rabs (a - total exact (combine x (map number (reads n)) ++ map given (map number (shift n)))) <= IZR e * fine k ->
  Rabs (a' - total exact (combine x (map number (reads n')) ++ map given (map number (shift n')))) <= IZR e' * fine k ->
  relu (Some a) (Some r) -> relu (Some a') (Some r') -> real (fst q) <= r - r' <= real (snd q).
Proof.
  intros n n' e e' q a a' r r' x H A A' G G'. unfold difference in H. destruct (_ && _)%bool eqn:S in H; [| discriminate].
  apply andb_prop in S. destruct S as (S & L). apply Nat.eqb_eq in L.
  assert (E : reads n = reads n').
  { revert S L. generalize (reads n) (reads n'). induction l as [| z l IH]; intros [| z' l'] S L; try discriminate; [reflexivity |].
    cbn [combine forallb fst snd] in S. apply andb_prop in S. destruct S as (Ez & S). apply Z.eqb_eq in Ez. simpl in L. f_equal; [exact Ez | apply IH; [exact S | congruence]]. }
  rewrite <- E, total_app, shift_total in A'. rewrite total_app, shift_total in A. set (t := total exact (combine x (map number (reads n)))) in *.
  inversion H; subst q. cbn [fst snd]. clear H. set (d := (shift_sum n - shift_sum n')%Z).
  pose proof (shifted_down f k k_fits (e + e')) as (_ & B). set (z := (Z.shiftr (e + e') k + 1)%Z) in *. rewrite plus_IZR, Rmult_plus_distr_r in B.
  apply Rabs_le_inv in A, A'. simpl in G, G'. inversion G; subst r. inversion G'; subst r'.
  assert (Dd : real (d - z) = real (shift_sum n) - real (shift_sum n') - real z) by (unfold d, checker.real; rewrite !minus_IZR; ring).
  assert (Du : real (d + z) = real (shift_sum n) - real (shift_sum n') + real z) by (unfold d, checker.real; rewrite plus_IZR, minus_IZR; ring).
  assert (M : real (Z.min 0 (d - z)) = Rmin 0 (real (d - z)) /\ real (Z.max 0 (d + z)) = Rmax 0 (real (d + z))).
  { unfold checker.real. pose proof (bpow_gt_0 radix2 (- k)). split.
    - destruct (Z.min_spec 0 (d - z)) as [(Z0 & ->) | (Z0 & ->)]; [apply IZR_lt in Z0; rewrite Rmin_left; [ring | nra] | apply IZR_le in Z0; rewrite Rmin_right; [reflexivity | nra]].
    - destruct (Z.max_spec 0 (d + z)) as [(Z0 & ->) | (Z0 & ->)]; [apply IZR_lt in Z0; rewrite Rmax_right; [reflexivity | nra] | apply IZR_le in Z0; rewrite Rmax_left; [ring | nra]]. }
  destruct M as (-> & ->). rewrite Dd, Du. unfold Rmin, Rmax. repeat destruct Rle_dec; lra.
Qed.

Lemma differences_hold : forall l x ns hs run, Forall2 within l x -> all (hidden_neuron l) ns = Some hs ->
  Forall2 (fun n g => exists h, neuron_run f k x (n, []) h /\ relu h g) ns run -> hidden_is (differences ns hs) run.
Proof.
  intros l x ns hs run X H R. revert hs H. induction R as [| n g ns run (h & Rn & Gn) R IH]; intros hs H; simpl in H; [inversion H; exact I |].
  destruct (hidden_neuron l n) as [(p, e) |] eqn:E; [| discriminate]. destruct (all (hidden_neuron l) ns) as [hs' |] eqn:F; [| discriminate].
  inversion H; subst hs. destruct (hidden_neuron_sound l x n p e h g X E Rn Gn) as (P & a & -> & A). cbn [differences hidden_is].
  split; [exact P |]. split; [| exact (IH hs' eq_refl)].
  intros q D. destruct ns as [| n' ns]; [discriminate |]. destruct hs' as [| (p', e') hs']; [discriminate |].
  inversion R as [| ? g' ? run' (h' & Rn' & Gn') R']; subst. simpl in F.
  destruct (hidden_neuron l n') as [(p1, e1) |] eqn:E'; [| discriminate]. destruct (all (hidden_neuron l) ns) as [hs1 |]; [| discriminate]. inversion F; subst p1 e1 hs1.
  destruct (hidden_neuron_sound l x n' p' e' h' g' X E' Rn' Gn') as (_ & a' & -> & A').
  simpl in Gn, Gn'. exists (Rmax a 0), (Rmax a' 0), run'. subst g g'. split; [reflexivity |]. split; [reflexivity |].
  exact (difference_holds n n' e e' q a a' _ _ x D A A' eq_refl eq_refl).
Qed.

Lemma hidden_within : forall hs ys, hidden_is hs ys -> Forall2 within (map fst hs) ys.
Proof. induction hs as [| (p, d) hs IH]; intros [| y ys] H; try contradiction; constructor; [apply H | apply IH, H]. Qed.

(** Lemma R13 of docs/rigour/runs.md, for one row: neurons of one direction count by what they can be together. *)
Theorem feed_forward_near_sound : forall W_in W_out skip l x p ys, feed_forward_near W_in W_out skip l = Some p -> Forall2 within l x ->
  feed_forward_run f k W_in W_out skip x ys -> Forall2 within p ys.
Proof.
  intros W_in W_out skip l x p ys S X (h & g & R1 & R2 & R3). unfold feed_forward_near in S.
  destruct (all (hidden_neuron l) W_in) as [hs |] eqn:E; [| discriminate].
  assert (Hi : hidden_is (differences W_in hs) g).
  { apply (differences_hold l x W_in hs g X E). unfold linear_run, alone in R1.
    pose proof (compose _ _ _ _ _ _ _ _ R1 R2) as C. clear - C. revert g C. induction W_in as [| n W_in IH]; intros g C; inversion C as [| ? y ? g' Hn C']; subst; constructor; [exact Hn | exact (IH g' C')]. }
  unfold linear_run in R3. pose proof (compose _ _ _ _ _ _ _ _ (combine_related _ _ _ _ W_out _ _ (skipping_beside skip W_out l x X)) R3) as C.
  refine (all_related _ _ _ _ _ _ _ _ _ S _ C). intros (n, m) q y _ Sn ((n', also') & (En & B) & W). cbn [fst snd] in *. subst n'.
  unfold output_near in Sn. cbn [fst snd] in Sn. destruct (ends (map shifted (map point (shift n) ++ m))) as ((lo, hi), s) eqn:Ee.
  refine (sum_between_sound f f_usable k k_fits far c c_right _ _ _ _ _ (terms_near_hold _ _ _ _ _ (hidden_within _ _ Hi) B) _ Sn W).
  intros q' Q. inversion Q; subst q'. cbn [fst snd]. rewrite total_app, !plus_IZR, !Rmult_plus_distr_r.
  pose proof (by_parts_holds _ _ Hi (reads n) 0%Z) as Bp. replace (real 0) with 0 in Bp by (unfold checker.real; ring). rewrite Rmult_0_l in Bp.
  assert (Bg : Forall2 between (map given (map number (shift n) ++ also')) (map shifted (map point (shift n) ++ m))) by (apply given_near, Forall2_app; [apply points_within | exact B]).
  pose proof (between_ends f k _ _ Bg) as T. rewrite Ee in T. destruct T as (_ & T & _). lra.
Qed.

Definition feed_forward_row (W_in W_out : list neuron) (skip : bool) (r : row) : option row :=
  or_near (exactly (feed_forward_z W_in W_out skip) r) (feed_forward_near W_in W_out skip) r.

Lemma feed_forward_row_sound : forall W_in W_out skip r r' x ys, feed_forward_row W_in W_out skip r = Some r' -> row_is r x ->
  feed_forward_run f k W_in W_out skip x ys -> row_is r' ys.
Proof.
  intros W_in W_out skip r r' x ys H X R. refine (or_near_sound (feed_forward_run f k W_in W_out skip) _ _ r r' x ys _ _ H X R).
  - intros l y zs. apply feed_forward_sound.
  - intros l p y zs. apply feed_forward_near_sound.
Qed.

End Layers.
