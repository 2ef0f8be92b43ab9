(** Theorem R12 (iv) and (v) of docs/rigour/runs.md: a softmax whose other scores are far below the largest one reads the
    rows of the largest scores alone, in one step or in parts that are rescaled and merged in any way. *)

From Coq Require Import Reals List ZArith Permutation Lra Lia.
From Flocq Require Import Core.
From Float32 Require Import semantics exact_sums.
Import ListNotations.
Open Scope R_scope.

Scheme part_run_mutual := Minimality for part_run Sort Prop
  with parts_run_mutual := Minimality for parts_run Sort Prop.
Combined Scheme part_parts_run_mutual from part_run_mutual, parts_run_mutual.

(** A sum over a list. *)
Definition sum_of {A} (g : A -> R) (l : list A) : R := fold_right (fun x s => g x + s) 0 l.

Lemma sum_of_app : forall A (g : A -> R) l1 l2, sum_of g (l1 ++ l2) = sum_of g l1 + sum_of g l2.
Proof. intros A g l1 l2. induction l1 as [| x l1 IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma sum_of_nonnegative : forall A (g : A -> R) l, (forall x, 0 <= g x) -> 0 <= sum_of g l.
Proof. intros A g l H. induction l as [| x l IH]; simpl; [lra | specialize (H x); lra]. Qed.

Lemma sum_of_permutation : forall A (g : A -> R) l1 l2, Permutation l1 l2 -> sum_of g l1 = sum_of g l2.
Proof. intros A g l1 l2 H. induction H; simpl; lra. Qed.

Lemma sum_of_zero : forall A (g : A -> R) l, (forall x, In x l -> g x = 0) -> sum_of g l = 0.
Proof.
  intros A g l H. induction l as [| x l IH]; simpl; [reflexivity |].
  rewrite (H x (or_introl eq_refl)), IH; [ring |]. intros y Y. apply H. right. exact Y.
Qed.

Section Parts.

Variable f : format.
Hypothesis f_usable : usable f.
Variable exponential : R -> num -> Prop.
Variable far : Z.
Hypothesis far_held : (1 <= far)%Z /\ held f (- IZR far).
Hypothesis exponential_usual : usual far exponential.
Variable M : R.      (* the largest score *)
Variable width : nat. (* of the rows *)
Variable j : Z.      (* values are at most 2^j *)
Notation p := (precision f).

(** A position: its score and its row. *)
Definition position : Type := R * list R.
Definition as_read (x : position) : num * list num := (Some (fst x), map Some (snd x)).

(** One of the positions has the largest score. *)
Definition top (K : list position) : Prop := Exists (fun x => fst x = M) K.

(** What a position adds to entry [c] of the sums: its value if its score is the largest. *)
Definition share (c : nat) (x : position) : R := if Req_EM_T (fst x) M then nth c (snd x) 0 else 0.

(** The score is the largest one or at least [far] below it, and the values are at most 2^j. *)
Definition apart (x : position) : Prop :=
  (fst x = M \/ fst x <= M - IZR far) /\ M - fst x < pow2 (safe f) /\ length (snd x) = width /\
  forall c, (c < width)%nat -> Rabs (nth c (snd x) 0) <= pow2 j.

(** The shares of entry [c] are multiples of a unit in which no partial sum is rounded. *)
Definition fitting_shares (K : list position) (c : nat) : Prop := exists e, unit f e /\
  Forall (fun x => exists z, share c x = IZR z * pow2 e) K /\
  sum_of (fun x => above (share c x)) K <= pow2 (p + e) /\ sum_of (fun x => below (share c x)) K <= pow2 (p + e).

(** Positions of which every part can be averaged without rounding. *)
Definition good (K : list position) : Prop :=
  Forall apart K /\ (forall c, (c < width)%nat -> fitting_shares K c) /\
  (Z.of_nat (length K) <= 2 ^ p)%Z /\ INR (length K) * pow2 j < pow2 (safe f).

Hypothesis j_held : (least f <= j)%Z.

Lemma good_app : forall K1 K2, good (K1 ++ K2) -> good K1 /\ good K2.
Proof.
  intros K1 K2 (A & F & L & S). apply Forall_app in A. destruct A as (A1 & A2). rewrite app_length in L, S. rewrite plus_INR in S.
  pose proof (pos_INR (length K1)). pose proof (pos_INR (length K2)). pose proof (bpow_ge_0 radix2 j).
  assert (0 <= INR (length K1) * pow2 j) by (apply Rmult_le_pos; assumption).
  assert (0 <= INR (length K2) * pow2 j) by (apply Rmult_le_pos; assumption).
  assert (X : forall c, (c < width)%nat -> fitting_shares K1 c /\ fitting_shares K2 c).
  { intros c C. destruct (F c C) as (e & U & Z & B1 & B2). apply Forall_app in Z. destruct Z as (Z1 & Z2).
    rewrite sum_of_app in B1, B2.
    pose proof (sum_of_nonnegative _ (fun x => above (share c x)) K1 ltac:(intro; apply above_pos)).
    pose proof (sum_of_nonnegative _ (fun x => above (share c x)) K2 ltac:(intro; apply above_pos)).
    pose proof (sum_of_nonnegative _ (fun x => below (share c x)) K1 ltac:(intro; apply below_pos)).
    pose proof (sum_of_nonnegative _ (fun x => below (share c x)) K2 ltac:(intro; apply below_pos)).
    split; exists e; (split; [exact U |]); (split; [assumption |]); split; lra. }
  split; (split; [assumption |]); (split; [intros c C; apply (X c C) |]); split; first [lia | lra].
Qed.

Lemma good_concat : forall Ks, good (concat Ks) -> Forall good Ks.
Proof.
  induction Ks as [| K Ks IH]; intro G; constructor; simpl in G; destruct (good_app _ _ G) as (G1 & G2); [exact G1 | exact (IH G2)].
Qed.

(** What is known of a part. *)
Definition part_is (K : list position) (x : part) : Prop :=
  length (snd x) = width /\
  (top K -> fst x = Some M /\ forall c, (c < width)%nat -> nth c (snd x) None = Some (sum_of (share c) K)) /\
  (~ top K -> exists m, fst x = Some m /\ (exists y, In y K /\ fst y = m) /\
     forall c, (c < width)%nat -> exists t, nth c (snd x) None = Some t /\ Rabs t <= INR (length K) * pow2 j).

Lemma top_dec : forall K, top K \/ ~ top K.
Proof. intro K. destruct (Exists_dec (fun x => fst x = M) K (fun x => Req_EM_T (fst x) M)); [left | right]; assumption. Qed.

(** The largest score of a part is that of one of its positions. *)
Lemma part_score : forall K x, good K -> part_is K x -> exists m, fst x = Some m /\ m <= M /\ M - m < pow2 (safe f) /\
  (top K -> m = M) /\ (~ top K -> m <= M - IZR far).
Proof.
  intros K x (A & _) (_ & T & N). rewrite Forall_forall in A. destruct far_held as (F & _). apply IZR_le in F. destruct (top_dec K) as [H | H].
  - destruct (T H) as (-> & _). exists M. pose proof (bpow_gt_0 radix2 (safe f)). repeat split; try lra. intro C. contradiction.
  - destruct (N H) as (m & -> & (y & I & <-) & _). destruct (A y I) as (C & S & _). exists (fst y).
    assert (fst y <= M - IZR far). { destruct C as [C | C]; [| exact C]. exfalso. apply H. apply Exists_exists. exists y. auto. }
    repeat split; try lra. intro C'. contradiction.
Qed.

(** The factor of a part of largest scores, and of another beside such a part. *)
Lemma factor_top : forall d e, sub f (Some M) (Some M) d -> expo exponential d e -> e = Some 1.
Proof.
  intros d e S X. destruct exponential_usual as (One & _). simpl in S. replace (M - M) with 0 in S by ring.
  rewrite (rounds_exact f 0 d (held_0 f)) in X; [exact (One e X) | rewrite Rabs_R0; apply bpow_gt_0 | left; reflexivity | exact S].
Qed.

Lemma normal_below_1 : pow2 (normal f) <= 1.
Proof. change 1 with (pow2 0). apply bpow_le. apply f_usable. Qed.

Lemma factor_far : forall m d e, m <= M - IZR far -> M - m < pow2 (safe f) -> sub f (Some m) (Some M) d -> expo exponential d e -> e = Some 0.
Proof.
  intros m d e L B S X. destruct exponential_usual as (_ & _ & Zero). destruct far_held as (F & H). apply IZR_le in F. simpl in S.
  destruct S as (r & -> & C); [rewrite Rabs_left1; lra |]. apply (Zero r); [| exact X].
  destruct C as [N | (T & _)].
  - destruct (N (- IZR far) H) as (_ & N2). apply N2. lra.
  - exfalso. rewrite Rabs_left1 in T by lra. pose proof normal_below_1. lra.
Qed.

(** Of any part: from 0 to 1. *)
Lemma factor_any : forall a m d e, a <= m -> m - a < pow2 (safe f) -> sub f (Some a) (Some m) d -> expo exponential d e ->
  exists r, e = Some r /\ 0 <= r <= 1.
Proof.
  intros a m d e L B S X. destruct exponential_usual as (_ & Bounded & _). simpl in S.
  destruct S as (r & -> & C); [rewrite Rabs_left1; lra |]. apply (Bounded r); [| exact X].
  destruct C as [N | (_ & ->)]; [| lra]. destruct (N 0 (held_0 f)) as (_ & N2). apply N2. lra.
Qed.

Lemma sum_of_share : forall K c, ~ top K -> sum_of (share c) K = 0.
Proof.
  intros K c H. apply sum_of_zero. intros x I. unfold share. destruct (Req_EM_T (fst x) M) as [E |]; [| reflexivity].
  exfalso. apply H. apply Exists_exists. exists x. auto.
Qed.

(** Parts that are merged, one of which has a largest score: each adds its share, or 0. *)
Lemma terms_top : forall Ks ps, Forall2 part_is Ks ps -> Forall good Ks -> forall e,
  Forall2 (fun x y => exists d, sub f (fst x) (Some M) d /\ expo exponential d y) ps e -> forall c, (c < width)%nat ->
  Forall2 (fun K t => finite t /\ term t = sum_of (share c) K) Ks (combine e (column (map snd ps) c)).
Proof.
  intros Ks ps H. induction H as [| K x Ks ps Hx _ IH]; intros G e F c C; inversion F as [| y b ys es (d & S & X) F' E1 E2]; subst;
    [constructor |]. change (column (map snd (x :: ps)) c) with (@cons num (@nth num c (snd x) None) (column (map snd ps) c)). cbn [combine]. constructor.
  - inversion G as [| ? ? GK _]; subst. destruct (part_score K x GK Hx) as (m & Em & _ & B & T & N). rewrite Em in S.
    destruct Hx as (_ & IT & IN). destruct (top_dec K) as [H | H].
    + destruct (IT H) as (_ & V). rewrite (V c C). rewrite (T H) in S. rewrite (factor_top d b S X). split; [exact I |]. simpl. ring.
    + destruct (IN H) as (_ & _ & _ & V). destruct (V c C) as (t & Et & _). rewrite Et.
      rewrite (factor_far m d b (N H) B S X). split; [exact I |]. simpl. rewrite (sum_of_share K c H). ring.
  - apply IH; [inversion G; assumption | exact F' | exact C].
Qed.

Lemma above_sum : forall K c, above (sum_of (share c) K) <= sum_of (fun x => above (share c x)) K.
Proof.
  intros K c. induction K as [| x K IH]; simpl; [unfold above; rewrite Rmax_left; lra |]. revert IH. unfold above, Rmax.
  repeat destruct Rle_dec; lra.
Qed.
Lemma below_sum : forall K c, below (sum_of (share c) K) <= sum_of (fun x => below (share c x)) K.
Proof.
  intros K c. induction K as [| x K IH]; simpl; [unfold below; rewrite Rmax_left; lra |]. revert IH. unfold below, Rmax.
  repeat destruct Rle_dec; lra.
Qed.

Lemma terms_fit : forall Ks c l, Forall2 (fun K t => finite t /\ term t = sum_of (share c) K) Ks l -> forall e,
  Forall (fun x => exists z, share c x = IZR z * pow2 e) (concat Ks) ->
  Forall finite l /\ Forall (fun t => exists z, term t = IZR z * pow2 e) l /\
  total above l <= sum_of (fun x => above (share c x)) (concat Ks) /\
  total below l <= sum_of (fun x => below (share c x)) (concat Ks) /\ total exact l = sum_of (share c) (concat Ks).
Proof.
  intros Ks c l H. induction H as [| K t Ks l (F & E) _ IH]; intros e Z; simpl in *.
  - repeat split; try constructor; lra.
  - apply Forall_app in Z. destruct Z as (Z1 & Z2). destruct (IH e Z2) as (A & B & C & D & X). rewrite !sum_of_app, X. unfold exact at 1. rewrite E.
    pose proof (above_sum K c). pose proof (below_sum K c). repeat split; try (constructor; assumption); try lra.
    constructor; [| exact B]. rewrite E. clear - Z1. induction Z1 as [| x K (z & Hz) _ (n & IH)]; [exists 0%Z; simpl; ring |].
    exists (z + n)%Z. simpl. rewrite Hz, IH, plus_IZR. ring.
Qed.

(** Parts without a largest score: the sums stay bounded, so that a factor 0 makes them 0. *)
Lemma terms_bounded : forall Ks ps, Forall2 part_is Ks ps -> Forall good Ks -> Forall (fun K => ~ top K) Ks -> forall m e,
  (forall x a, In x ps -> fst x = Some a -> a <= m) -> m <= M ->
  Forall2 (fun x y => exists d, sub f (fst x) (Some m) d /\ expo exponential d y) ps e -> forall c, (c < width)%nat ->
  Forall2 (fun t n => finite t /\ Rabs (term t) <= INR n * pow2 j) (combine e (column (map snd ps) c)) (map (@length position) Ks).
Proof.
  intros Ks ps H. induction H as [| K x Ks ps Hx _ IH]; intros G NT m e Le LM F c C;
    inversion F as [| y b ys es (d & S & X) F' E1 E2]; subst;
    [constructor |]. change (column (map snd (x :: ps)) c) with (@cons num (@nth num c (snd x) None) (column (map snd ps) c)). cbn [combine]. constructor.
  - inversion G as [| ? ? GK _]; subst. inversion NT as [| ? ? NK _]; subst.
    destruct (part_score K x GK Hx) as (a & Ea & _ & B & _ & _). pose proof (Le x a (or_introl eq_refl) Ea) as L. rewrite Ea in S.
    destruct Hx as (_ & _ & IN). destruct (IN NK) as (_ & _ & _ & V). destruct (V c C) as (t & -> & Bt).
    destruct (factor_any a m d b L ltac:(lra) S X) as (r & -> & R). split; [exact I |]. simpl. rewrite Rabs_mult, (Rabs_pos_eq r) by lra.
    pose proof (Rabs_pos t). apply Rle_trans with (1 * Rabs t); [apply Rmult_le_compat_r; lra | lra].
  - apply (IH ltac:(inversion G; assumption) ltac:(inversion NT; assumption) m es); [| exact LM | exact F' | exact C].
    intros y a Y. apply Le. right. exact Y.
Qed.

Lemma Forall2_in_r : forall A B (P : A -> B -> Prop) l m b, Forall2 P l m -> In b m -> exists a, In a l /\ P a b.
Proof.
  intros A B P l m b F. induction F as [| x y l m H _ IH]; intros I; [destruct I |]. destruct I as [<- | I].
  - exists x. split; [left; reflexivity | exact H].
  - destruct (IH I) as (a & Ia & Pa). exists a. split; [right; exact Ia | exact Pa].
Qed.
Lemma Forall2_in_l : forall A B (P : A -> B -> Prop) l m a, Forall2 P l m -> In a l -> exists b, In b m /\ P a b.
Proof.
  intros A B P l m a F. induction F as [| x y l m H _ IH]; intros I; [destruct I |]. destruct I as [<- | I].
  - exists y. split; [left; reflexivity | exact H].
  - destruct (IH I) as (b & Ib & Pb). exists b. split; [right; exact Ib | exact Pb].
Qed.
Lemma Forall2_nth_columns : forall (P : list num -> num -> Prop) g w t, Forall2 P (map g (seq 0 w)) t ->
  length t = w /\ forall c, (c < w)%nat -> P (g c) (nth c t None).
Proof.
  intros P g w t F. assert (X : forall s, Forall2 P (map g (seq s w)) t -> length t = w /\ forall c, (c < w)%nat -> P (g (s + c)%nat) (nth c t None)).
  { clear F. revert t. induction w as [| w IH]; intros t s F; simpl in F; inversion F as [| a b l m H F']; subst.
    - split; [reflexivity | intros c C; lia].
    - destruct (IH m (S s) F') as (L & N). split; [simpl; congruence |]. intros [| c] C; [rewrite Nat.add_0_r; exact H |].
      rewrite Nat.add_succ_r. apply (N c). lia. }
  destruct (X 0%nat F) as (L & N). split; assumption.
Qed.

Lemma length_concat : forall Ks : list (list position), length (concat Ks) = list_sum (map (@length position) Ks).
Proof. induction Ks as [| K Ks IH]; simpl; [reflexivity |]. rewrite app_length, IH. reflexivity. Qed.

Lemma compose : forall A B C (R : A -> B -> Prop) (S : B -> C -> Prop) l m n,
  Forall2 R l m -> Forall2 S m n -> Forall2 (fun a c => exists b, R a b /\ S b c) l n.
Proof.
  intros A B C R S l m n H. revert n. induction H as [| a b l m Hab _ IH]; intros n K; inversion K; subst; constructor.
  - exists b. split; assumption.
  - apply IH. assumption.
Qed.

(** *** Every part of the largest scores returns their sums exactly *)

Lemma merged : forall Ks ps m d t, Forall2 part_is Ks ps -> good (concat Ks) -> concat Ks <> [] -> maximum (map fst ps) m ->
  Forall2 (fun x y => sub f (fst x) m y) ps d ->
  Forall2 (fun c a => exists e, Forall2 (expo exponential) d e /\ sum_run f (combine e c) a) (columns width (map snd ps)) t ->
  part_is (concat Ks) (m, t).
Proof.
  intros Ks ps m d t Is G NE Hm Hd Ht. pose proof (good_concat Ks G) as Gs. rewrite Forall_forall in Gs.
  destruct (Forall2_nth_columns _ _ _ _ Ht) as (Lt & Nt). clear Ht.
  assert (Scores : forall x, In x ps -> exists a, fst x = Some a /\ a <= M /\ M - a < pow2 (safe f)).
  { intros x Hx. destruct (Forall2_in_r _ _ _ _ _ _ Is Hx) as (K & HK & I).
    destruct (part_score K x (Gs K HK) I) as (a & A & B & C & _). exists a. auto. }
  destruct Hm as [Hm | (r & -> & Ir & Lr)].
  { exfalso. apply in_map_iff in Hm. destruct Hm as (x & E & Hx). destruct (Scores x Hx) as (a & A & _). congruence. }
  split; [exact Lt |]. split.
  - intro T. cbn [fst snd]. assert (r = M) as ->.
    { apply Rle_antisym.
      - apply in_map_iff in Ir. destruct Ir as (x & E & Hx). destruct (Scores x Hx) as (a & A & B & _). rewrite E in A. inversion A; subst. exact B.
      - apply Exists_exists in T. destruct T as (y & Hy & Ey). apply in_concat in Hy. destruct Hy as (K & HK & Hy).
        destruct (Forall2_in_l _ _ _ _ _ _ Is HK) as (x & Hx & _ & IT & _). destruct (IT ltac:(apply Exists_exists; exists y; auto)) as (E & _).
        apply Lr. rewrite <- E. apply in_map. exact Hx. }
    split; [reflexivity |]. intros c C. destruct (Nt c C) as (e & He & Sum).
    pose proof (compose _ _ _ _ _ _ _ _ Hd He) as F. pose proof (terms_top Ks ps Is (good_concat Ks G) e F c C) as Te. destruct G as (_ & Fi & _). destruct (Fi c C) as (u & U & Z & A & B).
    destruct (terms_fit Ks c _ Te u Z) as (T1 & T2 & T3 & T4 & T5).
    assert (Fl : fits f u (combine e (column (map snd ps) c))) by (split; [exact T1 |]; split; [exact T2 |]; split; lra).
    rewrite (sum_without_rounding f f_usable u _ _ U Fl Sum), T5. reflexivity.
  - intro T. cbn [fst snd]. exists r. split; [reflexivity |]. split.
    + apply in_map_iff in Ir. destruct Ir as (x & E & Hx). destruct (Forall2_in_r _ _ _ _ _ _ Is Hx) as (K & HK & _ & _ & IN).
      destruct IN as (a & A & (y & Hy & Ey) & _).
      { intro TK. apply T. apply Exists_exists in TK. destruct TK as (y & Hy & Ey). apply Exists_exists. exists y. split; [| exact Ey].
        apply in_concat. exists K. auto. }
      exists y. split; [apply in_concat; exists K; auto |]. congruence.
    + intros c C. destruct (Nt c C) as (e & He & Sum). pose proof (compose _ _ _ _ _ _ _ _ Hd He) as F.
      destruct G as (_ & _ & Le & Si). rewrite length_concat in *.
      assert (NT : Forall (fun K => ~ top K) Ks).
      { apply Forall_forall. intros K HK TK. apply T. apply Exists_exists in TK. destruct TK as (y & Hy & Ey). apply Exists_exists. exists y.
        split; [apply in_concat; exists K; auto | exact Ey]. }
      refine (sum_is_bounded f f_usable j _ _ _ j_held _ Le _ Sum).
      * apply (terms_bounded Ks ps Is ltac:(apply Forall_forall; exact Gs) NT r e); [| | exact F | exact C].
        -- intros x a Hx Ex. apply Lr. rewrite <- Ex. apply in_map. exact Hx.
        -- apply in_map_iff in Ir. destruct Ir as (x & E & Hx). destruct (Scores x Hx) as (a & A & B & _). rewrite E in A. inversion A; subst. exact B.
      * rewrite <- INR_IZR_INZ. exact Si.
Qed.

Lemma nonempty : forall positions x, part_run f exponential width positions x -> positions <> [].
Proof.
  assert (X : (forall positions x, part_run f exponential width positions x -> positions <> []) /\
              (forall positions ps, parts_run f exponential width positions ps -> ps <> [] -> positions <> [])).
  { apply part_parts_run_mutual.
    - discriminate.
    - intros positions ps m d t _ IH Hm _ _. apply IH. intros ->. destruct Hm as [[] | (r & _ & [] & _)].
    - contradiction.
    - intros positions x others ps _ IH _ _ _. destruct positions; [contradiction IH; reflexivity | discriminate]. }
  apply X.
Qed.

Theorem every_part : forall positions x, part_run f exponential width positions x -> forall K, positions = map as_read K -> good K -> part_is K x.
Proof.
  assert (X : (forall positions x, part_run f exponential width positions x -> forall K, positions = map as_read K -> good K -> part_is K x) /\
    (forall positions ps, parts_run f exponential width positions ps -> forall K, positions = map as_read K -> good K ->
       exists Ks, K = concat Ks /\ Forall2 part_is Ks ps)).
  { apply part_parts_run_mutual.
    - intros s v K E G. destruct K as [| (a, row) [| ? ?]]; try discriminate. inversion E; subst. clear E.
      destruct G as (A & _). inversion A as [| ? ? (_ & _ & L & B) _]; subst. cbn [fst snd] in *. split; [cbn [snd]; rewrite map_length; exact L |]. split.
      + intro T. inversion T as [? ? E | ? ? T']; subst; [| inversion T']. cbn [fst snd] in *. subst a. split; [reflexivity |]. intros c C.
        unfold share. cbn [fst snd sum_of fold_right]. destruct (Req_EM_T M M) as [_ | D]; [| contradiction D; reflexivity].
        rewrite (nth_indep (map Some row) None (Some 0)) by (rewrite map_length, L; exact C). rewrite map_nth. f_equal. ring.
      + intros _. exists a. split; [reflexivity |]. split; [exists (a, row); split; [left |]; reflexivity |]. intros c C. exists (nth c row 0).
        cbn [snd]. rewrite (nth_indep (map Some row) None (Some 0)) by (rewrite map_length, L; exact C). rewrite map_nth. split; [reflexivity |].
        specialize (B c C). change (INR (length [(a, row)])) with 1. lra.
    - intros positions ps m d t PS IH Hm Hd Ht K E G. destruct (IH K E G) as (Ks & -> & F).
      apply (merged Ks ps m d t F G); try assumption. intro N.
      apply (nonempty positions (m, t)); [exact (part_merge _ _ _ _ _ _ _ _ PS Hm Hd Ht) | rewrite E, N; reflexivity].
    - intros K E _. exists []. destruct K; [| discriminate]. split; [reflexivity | constructor].
    - intros positions x others ps _ IH1 _ IH2 K E G. symmetry in E. apply map_eq_app in E. destruct E as (K1 & K2 & -> & <- & <-).
      destruct (good_app K1 K2 G) as (G1 & G2). destruct (IH2 K2 eq_refl G2) as (Ks & -> & F). exists (K1 :: Ks). split; [reflexivity |].
      constructor; [exact (IH1 K1 eq_refl G1) | exact F]. }
  apply X.
Qed.

End Parts.
