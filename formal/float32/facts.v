(** Facts and texts: if the check in integers returns true, every run of the model knows them. *)

From Coq Require Import Reals List ZArith Lra Lia Bool.
From Flocq Require Import Core.
From Float32 Require Import semantics exact_sums checker layers network runs_exist.
Import ListNotations.
Open Scope R_scope.

(** *** Weights *)

(** Whether an integer has so few digits, from its first to its last one, and is so small, that z and its parts by powers
    of 2 are held. *)
Definition short (f : format) (z : Z) : bool :=
  let j := Z.log2 (Z.land z (- z)) in
  ((0 <=? j) && (Z.shiftl (Z.shiftr z j) j =? z) && (Z.abs (Z.shiftr z j) <=? 2 ^ precision f) && (Z.abs z <=? 2 ^ (safe f - 1)))%Z.

Lemma short_sound : forall f k z, usable f -> scale_fits f k -> short f z = true ->
  held f (IZR z * pow2 (- k)) /\ Rabs (IZR z * pow2 (- k)) < pow2 (safe f).
Proof.
  intros f k z U (K & Low) H. unfold short in H. set (j := Z.log2 (Z.land z (- z))) in H. destruct U as (P2 & Room & N) eqn:EU. clear EU.
  rewrite !andb_true_iff, !Z.leb_le, Z.eqb_eq in H. destruct H as (((J & E) & S) & B). clearbody j. split.
  - rewrite Z.shiftl_mul_pow2 in E by exact J. rewrite <- E, mult_IZR, <- pow2_IZR, Rmult_assoc, <- bpow_plus by exact J.
    apply held_multiple; [repeat split; assumption | unfold normal in Low; lia |].
    rewrite Rabs_mult, (Rabs_pos_eq (bpow radix2 _)) by apply bpow_ge_0. rewrite (bpow_plus _ (precision f)).
    apply Rmult_le_compat_r; [apply bpow_ge_0 |]. rewrite <- abs_IZR, pow2_IZR by lia. apply IZR_le, S.
  - rewrite Rabs_mult, (Rabs_pos_eq (pow2 (- k))), <- abs_IZR by apply bpow_ge_0.
    apply Rle_lt_trans with (IZR (2 ^ (safe f - 1)) * pow2 0).
    + apply Rmult_le_compat; [apply IZR_le; lia | apply bpow_ge_0 | apply IZR_le, B | apply bpow_le; lia].
    + rewrite <- pow2_IZR, <- bpow_plus by lia. apply bpow_lt. lia.
Qed.

(** *** The largest logit *)

(** Whether [a] is above all entries but entry [t]. *)
Fixpoint wins (l : list interval) (t : nat) (a : Z) : bool :=
  match l, t with
  | [], _ => true
  | _ :: l, O => forallb (fun p => snd p <? a)%Z l
  | p :: l, S t => (snd p <? a)%Z && wins l t a
  end.

Lemma wins_spec : forall l t a j p, wins l t a = true -> nth_error l j = Some p -> j <> t -> (snd p < a)%Z.
Proof.
  induction l as [| c l IH]; intros t a j p W N D; [destruct j; discriminate |].
  destruct t as [| t], j as [| j]; simpl in W, N; try congruence.
  - rewrite forallb_forall in W. apply Z.ltb_lt, W. apply nth_error_In with j, N.
  - inversion N; subst. apply andb_prop in W. apply Z.ltb_lt, W.
  - apply andb_prop in W. apply (IH t a j p); [apply W | exact N | congruence].
Qed.

Definition greedy (l : list interval) (t : nat) : bool :=
  match nth_error l t with Some p => wins l t (fst p) | None => false end.

Lemma related_nth : forall A B (R : A -> B -> Prop) l m i b, Forall2 R l m -> nth_error m i = Some b -> exists a, nth_error l i = Some a /\ R a b.
Proof.
  intros A B R l m i b H. revert i. induction H as [| a b' l m Hab _ IH]; intros [| i] N; try discriminate; simpl in N.
  - inversion N; subst. exists a. split; [reflexivity | exact Hab].
  - exact (IH i N).
Qed.

Lemma greedy_sound : forall k l xs t s, Forall2 (within k) l xs -> greedy l t = true -> chosen xs s -> s = t.
Proof.
  intros k l xs t s X G [H | (r & N & L)].
  - exfalso. clear G. induction X as [| p x l xs (r & -> & _) _ IH]; [destruct H | destruct H as [H | H]; [discriminate | exact (IH H)]].
  - unfold greedy in G. destruct (nth_error l t) as [p |] eqn:E; [| discriminate].
    destruct (Nat.eq_dec s t) as [| D]; [assumption | exfalso].
    destruct (related_nth _ _ _ _ _ _ _ X N) as (q & F & r' & Er & Q). inversion Er; subst r'.
    pose proof (wins_spec l t (fst p) s q G F D) as W.
    assert (P : exists r0, In (Some r0) xs /\ real k (fst p) <= r0).
    { clear - X E. revert t E. induction X as [| p' x l xs (r & -> & B) _ IH]; intros [| t] E; try discriminate; simpl in E.
      - inversion E; subst. exists r. split; [left; reflexivity | apply B].
      - destruct (IH t E) as (r0 & I & B0). exists r0. split; [right; exact I | exact B0]. }
    destruct P as (r0 & I & B). specialize (L r0 I). apply IZR_lt in W.
    pose proof (bpow_gt_0 radix2 (- k)). unfold real in *. nra.
Qed.

(** *** Facts: contexts with the token that shall follow *)

Section Checks.

Variable f : format.
Variable far : Z.
Variable m : model.
Notation k := (scale m).

(** The stages after a fact, if the logit of its label is above all others. *)
Definition answered (c : constants) (ss : list stage) (fact : list nat * nat) : option (list stage) :=
  match model_z f m c ss (fst fact) with
  | Some (l, ss) => if greedy (intervals l) (snd fact) then Some ss else None
  | None => None
  end.

Fixpoint answered_from (c : constants) (ss : list stage) (facts : list (list nat * nat)) : bool :=
  match facts with
  | [] => true
  | fact :: facts => match answered c ss fact with Some ss => answered_from c ss facts | None => false end
  end.

Definition all_answered (facts : list (list nat * nat)) : bool := answered_from (constants_of f far k) (stages (blocks m)) facts.

(** The rest of what is checked, which is quick. *)
Definition well_formed (positions outputs : nat) (facts : list (list nat * nat)) : bool :=
  usable_z f far m && exponent_vanishes f far && short f (- far) && model_fits m positions outputs && forallb (fact_fits m positions) facts &&
  forallb (short f) (weights m).

Lemma usable_sound : usable_z f far m = true -> usable f /\ scale_fits f k /\ (1 <= far)%Z.
Proof.
  unfold usable_z. rewrite !andb_true_iff, !Z.leb_le. intros (((((P2 & Room) & N) & K) & Low) & F).
  split; [split; [exact P2 | split; assumption] |]. split; [split; assumption | exact F].
Qed.

Lemma far_sound : usable f -> short f (- far) = true -> held f (- IZR far).
Proof.
  intros U H. destruct (short_sound f 0 (- far) U) as (X & _); [split; [lia | apply U] | exact H |].
  simpl in X. rewrite Rmult_1_r, opp_IZR in X. exact X.
Qed.

Theorem all_answered_sound : forall facts, usable_z f far m = true -> short f (- far) = true -> all_answered facts = true -> knows f far m facts.
Proof.
  intros facts Us Sh H exponential U context label I logits answer Run C. destruct (usable_sound Us) as (Fu & K & F).
  pose proof (far_sound Fu Sh) as Fa. unfold all_answered in H. set (c := constants_of f far k) in *.
  assert (G : Forall (stage_right f k c) (stages (blocks m))).
  { eapply Forall_impl; [| apply stages_fresh]. intros s. apply fresh_right. }
  pose proof (stages_all_blocks (blocks m)) as B. revert G B H. generalize (stages (blocks m)). clear Sh Us.
  induction facts as [| fact facts IH]; intros ss G B H; [destruct I |]. cbn [answered_from] in H. unfold answered in H.
  destruct (model_z f m c ss (fst fact)) as [(l, ss') |] eqn:E; [| discriminate]. destruct (greedy (intervals l) (snd fact)) eqn:Gr; [| discriminate].
  destruct I as [-> | I].
  - cbn [fst snd] in *. refine (greedy_sound k (intervals l) logits label answer (intervals_hold k l logits _) Gr C).
    exact (model_sound f far m c exponential ss ss' context logits l Fu (conj F Fa) K eq_refl U G B E Run).
  - destruct (model_kept f m c ss ss' _ l G B E) as (G' & B'). exact (IH I ss' G' B' H).
Qed.

(** Facts that are checked in pieces of [size]. *)
Definition piece (size : nat) (facts : list (list nat * nat)) (number : nat) : list (list nat * nat) :=
  firstn size (skipn (number * size) facts).


Theorem pieces_are_all : forall size count facts, (length facts <= count * size)%nat ->
  Forall (fun number => knows f far m (piece size facts number)) (seq 0 count) -> knows f far m facts.
Proof.
  intros size count facts L H exponential U context label I. destruct (In_nth _ _ ([], 0%nat) I) as (i & Hi & E).
  rewrite Forall_forall in H. assert (S0 : size <> 0%nat) by (intros ->; lia).
  assert (Hn : In (i / size)%nat (seq 0 count)) by (apply in_seq; split; [lia |]; apply Nat.div_lt_upper_bound; lia).
  refine (H (i / size)%nat Hn exponential U context label _). pose proof (Nat.mod_upper_bound i size S0) as M.
  pose proof (Nat.div_mod i size S0) as Eq. unfold piece. rewrite <- E.
  assert (X : nth (i mod size) (firstn size (skipn (i / size * size) facts)) ([], 0%nat) = nth i facts ([], 0%nat)).
  { assert (N : forall n (l : list (list nat * nat)) k d, (k < n)%nat -> nth k (firstn n l) d = nth k l d).
    { induction n as [| n IH]; intros [| x l] [| k'] d B; simpl; try lia; try reflexivity. apply IH. lia. }
    assert (S : forall n (l : list (list nat * nat)) k d, nth k (skipn n l) d = nth (n + k) l d).
    { induction n as [| n IH]; intros [| x l] k' d; simpl; try reflexivity; [destruct k'; reflexivity | apply IH]. }
    rewrite N, S by exact M. f_equal. lia. }
  rewrite <- X. apply nth_In. rewrite firstn_length, skipn_length. lia.
Qed.

Theorem facts_are_known : forall positions outputs facts, well_formed positions outputs facts = true -> knows f far m facts ->
  facts_by_heart f far m positions outputs facts.
Proof.
  intros positions outputs facts H A. unfold well_formed in H. rewrite !andb_true_iff in H. destruct H as (((((Us & V) & Sh) & M) & Fa) & W).
  destruct (usable_sound Us) as (Fu & K & F). split; [exact M |]. split; [exact Fa |]. split.
  { apply Forall_forall. intros z Z. rewrite forallb_forall in W. exact (short_sound f k z Fu K (W z Z)). }
  split; [exact A |]. split; [split; [exact (correctly_rounded_is_usual f Fu far F V) | apply correctly_rounded_is_defined; exact Fu] |].
  intros exponential D context label I. rewrite forallb_forall in Fa. specialize (Fa _ I). unfold fact_fits in Fa. cbn [fst snd] in Fa.
  rewrite !andb_true_iff, Nat.eqb_eq in Fa. destruct Fa as ((L & _) & _). unfold model_fits in M.
  destruct (blocks_fit _ (blocks m)) as (good_blocks, last_width). rewrite !andb_true_iff, !Nat.leb_le in M.
  destruct M as (((((_ & P1) & P) & _) & _) & _). apply runs_exist; [exact Fu | exact D | |].
  - intros ->. simpl in L. lia.
  - intros E. rewrite E in P. simpl in P. lia.
Qed.

(** *** Texts *)

Lemma recitation : forall keep context text, knows f far m (windows keep context text) -> recites f far m keep context text.
Proof.
  intros keep context text H exponential U said S L. specialize (H exponential U). revert context said H S L.
  induction text as [| t text IH]; intros context said H S L; [destruct said; [reflexivity | discriminate] |].
  destruct said as [| s said]; [discriminate |]. inversion S as [| x logits s' more Run C More]; subst.
  rewrite (H context t (or_introl eq_refl) logits s Run C) in *. f_equal.
  apply (IH (slide keep context t)); [intros x l I; apply H; right; exact I | exact More | simpl in L; congruence].
Qed.

(** Whether a text ends with the token, which is nowhere before. *)
Fixpoint ends_once_z (last_token : nat) (text : list nat) : bool :=
  match text with
  | [] => false
  | [t] => (t =? last_token)%nat
  | t :: text => negb (t =? last_token)%nat && ends_once_z last_token text
  end.

Lemma ends_once_sound : forall last_token text, ends_once_z last_token text = true -> ends_once last_token text.
Proof.
  intros last_token text. induction text as [| t text IH]; intro H; [discriminate |]. destruct text as [| u text].
  - simpl in H. apply Nat.eqb_eq in H. subst t. exists []. split; [reflexivity | intros []].
  - change (negb (t =? last_token)%nat && ends_once_z last_token (u :: text) = true) in H. apply andb_prop in H. destruct H as (N & H).
    destruct (IH H) as (words & E & I). exists (t :: words). split; [simpl; rewrite <- E; reflexivity |].
    apply negb_true_iff, Nat.eqb_neq in N. intros [X | X]; [contradiction | exact (I X)].
Qed.

Theorem texts_are_known : forall positions outputs keep last_token texts,
  well_formed positions outputs (facts_of_texts keep positions texts) && forallb (fun t => ends_once_z last_token (snd t)) texts = true ->
  knows f far m (facts_of_texts keep positions texts) -> texts_by_heart f far m positions outputs keep last_token texts.
Proof.
  intros positions outputs keep last_token texts H A. apply andb_prop in H. destruct H as (H & E).
  split; [exact (facts_are_known _ _ _ H A) |]. intros title text I. rewrite forallb_forall in E. specialize (E _ I). cbn [snd] in E.
  split; [apply ends_once_sound, E |]. split.
  - apply recitation. intros exponential U context label J. apply (A exponential U). apply in_flat_map. exists (title, text). split; [exact I | exact J].
  - intros exponential D. unfold well_formed in H. rewrite !andb_true_iff in H. destruct H as (((((Us & _) & _) & M) & Fa) & _).
    destruct (usable_sound Us) as (Fu & _). unfold model_fits in M.
    destruct (blocks_fit _ (blocks m)) as (good_blocks, last_width). rewrite !andb_true_iff, !Nat.leb_le in M.
    destruct M as (((((_ & P1) & P) & _) & _) & _). apply something_is_said; [exact Fu | exact D | | |].
    + intro X. rewrite X in P. simpl in P. lia.
    + destruct text as [| t text]; [discriminate |]. rewrite forallb_forall in Fa.
      specialize (Fa (repeat title positions, t)). unfold fact_fits in Fa. cbn [fst snd] in Fa.
      rewrite !andb_true_iff, Nat.ltb_lt in Fa. destruct Fa as (_ & L).
      { apply in_flat_map. exists (title, t :: text). split; [exact I | left; reflexivity]. }
      intro X. rewrite X in L. simpl in L. lia.
    + destruct positions; [lia | discriminate].
Qed.

End Checks.
