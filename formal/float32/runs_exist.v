(** The theorems are about something: a correctly rounded exponential is usual, and for every exponential that returns
    something everywhere the model has runs and says something, whatever its weights are. *)

From Coq Require Import Reals List ZArith Permutation Lra Lia.
From Flocq Require Import Core.
From Float32 Require Import semantics exact_sums.
Import ListNotations.
Open Scope R_scope.

Section Format.

Variable f : format.
Hypothesis f_usable : usable f.

Local Instance valid : Valid_exp (FLT_exp (least f) (precision f)).
Proof. apply FLT_exp_valid. destruct f_usable as (P & _). unfold Prec_gt_0. lia. Qed.

Lemma rounds_total : forall x, exists y, rounds f x y.
Proof.
  intro x. exists (Some (round radix2 (FLT_exp (least f) (precision f)) ZnearestE x)). intros _.
  eexists. split; [reflexivity |]. left. intros g G.
  split; intro L; [apply round_ge_generic | apply round_le_generic]; try assumption; try exact valid; apply valid_rnd_N.
Qed.

(** *** The exponential *)

(** Whether e^-far is less than half of the smallest number: e > (5 / 4)^4 > 2, so no more than 2 - least is needed. *)
Definition exponent_vanishes (far : Z) : bool :=
  let n := Z.min far (2 - least f) in (4 ^ (4 * n) * 2 ^ (1 - least f) <? 5 ^ (4 * n))%Z.

Lemma exp_small : forall far, (1 <= far)%Z -> exponent_vanishes far = true -> forall x, x <= - IZR far -> 0 < exp x < bpow radix2 (least f - 1).
Proof.
  intros most F V x H. unfold exponent_vanishes in V. set (far := Z.min most (2 - least f)) in V. cbv zeta in V.
  assert (Low0 : (least f <= 0)%Z) by (destruct f_usable as (? & _ & ?); unfold normal in *; lia).
  assert (F' : (1 <= far <= most)%Z) by lia. clear F. destruct F' as (F & Fm). apply IZR_le in Fm. assert (Hx : x <= - IZR far) by lra. clear H Fm. rename Hx into H. clearbody far.
  apply Z.ltb_lt in V. split; [apply exp_pos |]. apply Rle_lt_trans with (exp (- IZR far)).
  - destruct H as [H | ->]; [left; apply exp_increasing, H | right; reflexivity].
  - assert (Q : 5 / 4 <= exp (/ 4)) by (pose proof (exp_ineq1_le (/ 4)); lra).
    assert (P : forall n, exp (INR n * / 4) = exp (/ 4) ^ n).
    { induction n as [| n IH]; [simpl; rewrite Rmult_0_l; apply exp_0 |].
      rewrite S_INR, Rmult_plus_distr_r, exp_plus, IH, Rmult_1_l. simpl. ring. }
    set (n := Z.to_nat (4 * far)). assert (N : Z.of_nat n = (4 * far)%Z) by (apply Z2Nat.id; lia).
    replace (- IZR far) with (- (INR n * / 4)) by (rewrite INR_IZR_INZ, N, mult_IZR; lra).
    rewrite exp_Ropp, P. apply Rle_lt_trans with (/ ((5 / 4) ^ n)).
    + apply Rinv_le; [apply pow_lt; lra | apply pow_incr; lra].
    + assert (Low : (least f <= 0)%Z) by (destruct f_usable as (? & _ & ?); unfold normal in *; lia).
      replace (bpow radix2 (least f - 1)) with (/ bpow radix2 (1 - least f)) by (rewrite <- bpow_opp; f_equal; ring).
      apply Rinv_lt; [apply bpow_gt_0 |]. rewrite pow2_IZR by lia.
      replace ((5 / 4) ^ n) with (IZR (5 ^ Z.of_nat n) / IZR (4 ^ Z.of_nat n)).
      * assert (D : 0 < IZR (4 ^ Z.of_nat n)) by (apply IZR_lt, Z.pow_pos_nonneg; lia).
        apply Rmult_lt_reg_r with (1 := D). unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
        rewrite <- mult_IZR. apply IZR_lt. rewrite N. lia.
      * rewrite <- !pow_IZR. unfold Rdiv. rewrite <- pow_inv, <- Rpow_mult_distr. reflexivity.
Qed.

(** A nearest number does not leave an interval whose ends are held. *)
Lemma nearest_between : forall x r a b, Rnd_N_pt (held f) x r -> held f a -> held f b -> a <= x <= b -> a <= r <= b.
Proof.
  intros x r a b (F & N) A B H. pose proof (N a A) as Na. pose proof (N b B) as Nb.
  rewrite (Rabs_left1 (a - x)) in Na by lra. rewrite (Rabs_pos_eq (b - x)) in Nb by lra.
  apply Rabs_le_inv in Na. apply Rabs_le_inv in Nb. lra.
Qed.

Lemma exp_below_1 : forall x, x <= 0 -> 0 < exp x <= 1.
Proof.
  intros x H. split; [apply exp_pos |]. rewrite <- exp_0. destruct H as [H | ->]; [left; apply exp_increasing, H | right; reflexivity].
Qed.

Theorem correctly_rounded_is_usual : forall far, (1 <= far)%Z -> exponent_vanishes far = true -> usual far (correctly_rounded f).
Proof.
  intros far F V. pose proof (held_1 f f_usable) as H1. pose proof (held_0 f) as H0.
  assert (Safe : 1 < bpow radix2 (safe f)).
  { change 1 with (bpow radix2 0). apply bpow_lt. destruct f_usable as (? & ? & _). lia. }
  assert (Low : bpow radix2 (normal f) <= 1) by (change 1 with (bpow radix2 0); apply bpow_le, f_usable).
  split; [| split].
  - intros y H. unfold correctly_rounded in H. rewrite exp_0 in H. rewrite Rabs_R1 in H.
    destruct (H Safe) as (r & -> & [N | (T & _)]); [| lra]. f_equal. exact (Rnd_N_pt_idempotent _ _ _ N H1).
  - intros x y Hx H. destruct (exp_below_1 x Hx) as (P & B). unfold correctly_rounded in H. rewrite (Rabs_pos_eq (exp x)) in H by lra.
    destruct H as (r & -> & C); [lra |]. exists r. split; [reflexivity |]. destruct C as [N | (_ & ->)]; [| lra].
    apply (nearest_between (exp x) r 0 1 N H0 H1). lra.
  - intros x y Hx H. destruct (exp_small far F V x Hx) as (P & S). unfold correctly_rounded in H. rewrite (Rabs_pos_eq (exp x)) in H by lra.
    assert (Tiny : bpow radix2 (least f - 1) <= 1).
    { change 1 with (bpow radix2 0). apply bpow_le. destruct f_usable as (? & _ & ?). unfold normal in *. lia. }
    destruct H as (r & -> & C); [lra |]. f_equal. destruct C as [(Hr & N) | (_ & ->)]; [| reflexivity].
    (* 0 is nearer than every other number *)
    destruct (Req_dec r 0) as [| D]; [assumption | exfalso].
    specialize (N 0 H0). rewrite Rminus_0_l, Rabs_Ropp, (Rabs_pos_eq (exp x)) in N by lra.
    assert (L : bpow radix2 (least f) <= Rabs r).
    { apply (generic_format_ge_bpow radix2 (FLT_exp (least f) (precision f))).
      - intro e. unfold FLT_exp. lia.
      - apply Rabs_pos_lt, D.
      - apply generic_format_abs, Hr. }
    pose proof (Rabs_triang_inv r (exp x)) as T. rewrite (Rabs_pos_eq (exp x)) in T by lra.
    replace (bpow radix2 (least f)) with (2 * bpow radix2 (least f - 1)) in L.
    + lra.
    + change 2 with (bpow radix2 1). rewrite <- bpow_plus. f_equal. ring.
Qed.

Theorem correctly_rounded_is_defined : defined (correctly_rounded f).
Proof.
  intro x. exists (Some (round radix2 (FLT_exp (least f) (precision f)) ZnearestE (exp x))). intros _.
  eexists. split; [reflexivity |]. left. apply round_N_pt, valid.
Qed.

(** *** Runs *)

Lemma Forall2_total : forall A B (R : A -> B -> Prop), (forall a, exists b, R a b) -> forall l, exists m, Forall2 R l m.
Proof.
  intros A B R H l. induction l as [| a l (m & M)]; [exists []; constructor |].
  destruct (H a) as (b & Hb). exists (b :: m). constructor; assumption.
Qed.

Lemma add_total : forall x y, exists z, add f x y z.
Proof. intros [a |] [b |]; simpl; try (exists None; exact I). apply rounds_total. Qed.
Lemma sub_total : forall x y, exists z, sub f x y z.
Proof. intros [a |] [b |]; simpl; try (exists None; exact I). apply rounds_total. Qed.
Lemma div_total : forall x y, exists z, div f x y z.
Proof.
  intros [a |] [b |]; simpl; try (exists None; exact I). destruct (rounds_total (a / b)) as (z & Z). exists z. auto.
Qed.
Lemma quotient_total : forall x y, exists z, quotient f x y z.
Proof. intros x y. destruct (div_total x y) as (z & Z). exists z. left. exact Z. Qed.
Lemma fma_total : forall x y c, exists z, fma f x y c z.
Proof. intros [a |] [b |] [c |]; simpl; try (exists None; exact I). apply rounds_total. Qed.
Lemma relu_total : forall x, exists y, relu x y.
Proof. intros [a |]; simpl; [eexists; reflexivity | exists None; exact I]. Qed.

(** From the last term to the first, with fused multiply-add. *)
Lemma sum_total : forall l, exists y, sum_run f l y.
Proof.
  induction l as [| (a, b) l (y & Y)]; [exists (Some 0); constructor |].
  destruct (fma_total a b y) as (z & Z). exists z. exact (sum_fma f a b l _ y z Y (Permutation_refl _) Z).
Qed.

Lemma maximum_total : forall l, l <> [] -> exists m, maximum l m.
Proof.
  intros l N. assert (In None l \/ ~ In None l) as [H | H].
  { clear N. induction l as [| [a |] l [H | H]]; [right; intros [] | left; right; exact H | | left; left; reflexivity | left; left; reflexivity].
    right. intros [C | C]; [discriminate | exact (H C)]. }
  - exists None. left. exact H.
  - assert (X : exists r, In (Some r) l /\ forall a, In (Some a) l -> a <= r).
    { induction l as [| [a |] l IH]; [contradiction | | exfalso; apply H; left; reflexivity].
      destruct l as [| b l].
      - exists a. split; [left; reflexivity |]. intros c [C | []]. inversion C. lra.
      - destruct IH as (r & I & L); [discriminate | intro C; apply H; right; exact C |].
        destruct (Rle_dec a r) as [A | A].
        + exists r. split; [right; exact I |]. intros c [C | C]; [inversion C; subst; exact A | apply L, C].
        + exists a. split; [left; reflexivity |]. intros c [C | C]; [inversion C; lra | apply L in C; lra]. }
    destruct X as (r & I & L). exists (Some r). right. exists r. auto.
Qed.

Section Total.

Variable k : Z.
Variable exponential : R -> num -> Prop.
Hypothesis exponential_defined : defined exponential.

Lemma expo_total : forall x, exists y, expo exponential x y.
Proof. intros [a |]; simpl; [apply exponential_defined | exists None; exact I]. Qed.

Lemma linear_total : forall ns also x, exists y, linear_run f k ns also x y.
Proof. intros ns also x. apply Forall2_total. intro n. apply sum_total. Qed.

Lemma feed_forward_total : forall W_in W_out skip x, exists y, feed_forward_run f k W_in W_out skip x y.
Proof.
  intros W_in W_out skip x. destruct (linear_total W_in (alone W_in) x) as (h & H).
  destruct (Forall2_total _ _ relu relu_total h) as (g & G).
  destruct (linear_total W_out (skipping skip W_out x) g) as (y & Y). exists y, h, g. auto.
Qed.

Lemma Forall2_nonempty : forall A B (R : A -> B -> Prop) l m, Forall2 R l m -> l <> [] -> m <> [].
Proof. intros A B R l m H N. destruct H; [contradiction | discriminate]. Qed.

(** All positions at once. *)
Lemma parts_alone : forall width positions, parts_run f exponential width positions positions.
Proof.
  intros width positions. induction positions as [| (s, v) positions IH]; [constructor |].
  exact (parts_more f exponential width [(s, v)] (s, v) positions positions (part_position f exponential width s v) IH).
Qed.

(** Flash attention in 16 bits: the exponentials [e] are added as they are, and rounded to [e'] for the average. *)
Theorem rounded_for_the_average : forall width positions m d e e' z t,
  maximum (map fst positions) m -> Forall2 (fun p x => sub f (fst p) m x) positions d ->
  Forall2 (expo exponential) d e -> Forall2 (expo exponential) d e' ->
  sum_run f (combine e (column (map snd positions) 0)) z ->
  Forall2 (fun c a => sum_run f (combine e' c) a) (map (column (map snd positions)) (seq 1 width)) t ->
  part_run f exponential (S width) positions (m, z :: t).
Proof.
  intros width positions m d e e' z t M D E E' Z T.
  assert (T' : Forall2 (fun c a => exists e, Forall2 (expo exponential) d e /\ sum_run f (combine e c) a)
    (map (column (map snd positions)) (seq 1 width)) t).
  { induction T as [| c a cs t S _ IH]; constructor; [exists e'; split; assumption | exact IH]. }
  exact (part_merge f exponential (S width) positions positions m d (z :: t) (parts_alone _ _) M D
    (Forall2_cons _ _ (ex_intro _ e (conj E Z)) T')).
Qed.

Lemma softmax_total : forall width scores rows, scores <> [] -> rows <> [] -> exists o, softmax_run f exponential width scores rows o.
Proof.
  intros width scores rows NS NR. set (positions := combine scores (map (cons (Some 1)) rows)).
  assert (N : map fst positions <> []) by (unfold positions; destruct scores, rows; try contradiction; discriminate).
  destruct (maximum_total (map fst positions) N) as (m & M).
  destruct (Forall2_total _ _ (fun p x => sub f (fst p) m x) ltac:(intro; apply sub_total) positions) as (d & D).
  destruct (Forall2_total _ _ _ expo_total d) as (e & E).
  destruct (Forall2_total _ _ (fun c a => exists e, Forall2 (expo exponential) d e /\ sum_run f (combine e c) a)
    ltac:(intro c; destruct (sum_total (combine e c)) as (a & A); exists a, e; split; assumption) (columns (S width) (map snd positions))) as (t & T).
  pose proof (part_merge f exponential (S width) positions positions m d t (parts_alone _ _) M D T) as P.
  destruct t as [| z t]; [inversion T |].
  destruct (Forall2_total _ _ (fun a b => quotient f a z b) ltac:(intro; apply quotient_total) t) as (o & O).
  exists o, positions, m, z, t. split; [apply Permutation_refl |]. split; [exact P |]. left. exact O.
Qed.

Lemma head_total : forall rows x h, rows <> [] -> exists o, head_run f exponential k rows x h o.
Proof.
  intros rows x h N. destruct (linear_total (query h) (alone (query h)) x) as (q & Q).
  destruct (Forall2_total _ _ _ (linear_total (key h) (alone (key h))) rows) as (ks & K).
  destruct (Forall2_total _ _ _ (linear_total (value h) (alone (value h))) rows) as (vs & V).
  destruct (Forall2_total _ _ (fun b a => sum_run f (combine q b) a) ltac:(intro; apply sum_total) ks) as (s & S).
  destruct (softmax_total (length (value h)) s vs) as (o & O).
  - apply (Forall2_nonempty _ _ _ _ _ S), (Forall2_nonempty _ _ _ _ _ K), N.
  - apply (Forall2_nonempty _ _ _ _ _ V), N.
  - exists o, q, ks, vs, s. repeat (split; [assumption |]). exact O.
Qed.

Lemma attention_total : forall hs W_O skip rows x, rows <> [] -> exists y, attention_run f exponential k hs W_O skip rows x y.
Proof.
  intros hs W_O skip rows x N. destruct (Forall2_total _ _ (head_run f exponential k rows x) (fun h => head_total rows x h N) hs) as (os & O).
  destruct (linear_total W_O (skipping skip W_O x) (concat os)) as (y & Y). exists y, os. auto.
Qed.

Lemma asking_nonempty : forall who A (rows : list A), rows <> [] -> asking who rows <> [].
Proof.
  intros who A [| r rows] N; [contradiction |]. destruct who; [discriminate | discriminate |]. unfold asking.
  intro E. apply (f_equal (@length _)) in E. rewrite map_length, skipn_length in E. cbn [length] in E. lia.
Qed.

Lemma asking_rows : forall who A (rows : list A) a, rows <> [] -> In a (asking who rows) -> fst a <> [].
Proof.
  intros who A [| r rows] a N I; [contradiction |]. destruct who; unfold asking in I; apply in_map_iff in I; destruct I as (x & <- & _); discriminate.
Qed.

Lemma Forall2_total_in : forall A B (R : A -> B -> Prop) l, (forall a, In a l -> exists b, R a b) -> exists m, Forall2 R l m.
Proof.
  intros A B R l. induction l as [| a l IH]; intro H; [exists []; constructor |].
  destruct (H a (or_introl eq_refl)) as (b & Hb). destruct IH as (m & M); [intros x X; apply H; right; exact X |].
  exists (b :: m). constructor; assumption.
Qed.

Lemma blocks_total : forall bs rows, rows <> [] -> exists rows', blocks_run f exponential k bs rows rows' /\ rows' <> [].
Proof.
  induction bs as [| b bs IH]; intros rows N; [exists rows; simpl; auto |].
  assert (X : exists m, block_run f exponential k b rows m /\ m <> []).
  { destruct b as [W_in W_out skip | hs W_O skip who].
    - destruct (Forall2_total _ _ _ (feed_forward_total W_in W_out skip) rows) as (m & M). exists m. split; [exact M |].
      exact (Forall2_nonempty _ _ _ _ _ M N).
    - destruct (Forall2_total_in _ _ (fun a y => attention_run f exponential k hs W_O skip (fst a) (snd a) y) (asking who rows)) as (m & M).
      { intros a I. apply attention_total. exact (asking_rows who _ rows a N I). }
      exists m. split; [exact M |]. apply (Forall2_nonempty _ _ _ _ _ M), asking_nonempty, N. }
  destruct X as (m & M & N'). destruct (IH m N') as (r & R & N2). exists r. split; [| exact N2]. exists m. auto.
Qed.

End Total.

Theorem runs_exist : forall exponential m tokens, defined exponential -> tokens <> [] -> W_pos m <> [] ->
  exists logits, run f exponential m tokens logits.
Proof.
  intros exponential m tokens T N P.
  destruct (Forall2_total _ _ (embed_run f (scale m)) ltac:(intro; apply Forall2_total; intro; apply sum_total)
    (combine (map (fun t => nth t (W_E m) []) tokens) (W_pos m))) as (rows & H).
  destruct (blocks_total (scale m) exponential T (blocks m) rows) as (rows' & B & _).
  { apply (Forall2_nonempty _ _ _ _ _ H). destruct tokens, (W_pos m); try contradiction. discriminate. }
  destruct (linear_total (scale m) (W_U m) (alone (W_U m)) (last rows' [])) as (l & L). exists l, rows, rows'. auto.
Qed.

Theorem something_is_said : forall exponential m keep context n, defined exponential -> W_pos m <> [] -> W_U m <> [] ->
  context <> [] -> exists said, length said = n /\ says f exponential m keep context said.
Proof.
  intros exponential m keep context n T P U. revert context. induction n as [| n IH]; intros context C.
  - exists []. split; [reflexivity | constructor].
  - destruct (runs_exist exponential m context T C P) as (logits & L).
    assert (N : logits <> []).
    { destruct L as (rows & rows' & _ & _ & L). apply (Forall2_nonempty _ _ _ _ _ L).
      destruct (W_U m); [contradiction | discriminate]. }
    assert (X : exists t, chosen logits t).
    { destruct (maximum_total logits N) as (r & [I | (a & -> & I & M)]); [exists 0%nat; left; exact I |].
      destruct (In_nth_error _ _ I) as (t & Ht). exists t. right. exists a. auto. }
    destruct X as (t & Ht). destruct (IH (slide keep context t)) as (said & E & S).
    { unfold slide. intro X. apply app_eq_nil in X. destruct X as (_ & X). apply app_eq_nil in X. destruct X as (_ & X). discriminate. }
    exists (t :: said). split; [simpl; congruence |]. exact (says_next _ _ _ _ _ _ _ _ L Ht S).
Qed.

End Format.
