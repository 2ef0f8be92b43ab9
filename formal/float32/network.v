(** The checker of a whole model, and its soundness: what it computes of the logits holds in every run.

    It computes nothing twice: what came of a row is looked up in a [table], and the pattern of a query in what was
    [found] for the same keys. So a model is cut into [stages], groups of blocks that map each row by itself and blocks
    of attention, and each stage keeps what it has computed for the next context. Each of these is proved to be what the
    blocks compute, whatever has been kept. *)

From Coq Require Import Reals List ZArith Permutation Lra Lia Bool FMapPositive.
From Flocq Require Import Core.
From Float32 Require Import semantics exact_sums softmax checker layers heads.
Import ListNotations.
Open Scope R_scope.

(** *** What has been computed before *)

Fixpoint same (a b : list Z) : bool :=
  match a, b with [], [] => true | x :: a, y :: b => (x =? y)%Z && same a b | _, _ => false end.

Lemma same_equal : forall a b, same a b = true -> a = b.
Proof.
  induction a as [| x a IH]; intros [| y b] H; simpl in H; try discriminate; [reflexivity |].
  apply andb_prop in H. destruct H as (E & H). apply Z.eqb_eq in E. f_equal; [exact E | apply IH, H].
Qed.

Fixpoint same_rows (a b : list (list Z)) : bool :=
  match a, b with [], [] => true | x :: a, y :: b => same x y && same_rows a b | _, _ => false end.

Lemma same_rows_equal : forall a b, same_rows a b = true -> a = b.
Proof.
  induction a as [| x a IH]; intros [| y b] H; simpl in H; try discriminate; [reflexivity |].
  apply andb_prop in H. destruct H as (E & H). f_equal; [apply same_equal, E | apply IH, H].
Qed.

Fixpoint same_intervals (a b : list interval) : bool :=
  match a, b with
  | [], [] => true
  | (x, x') :: a, (y, y') :: b => (x =? y)%Z && (x' =? y')%Z && same_intervals a b
  | _, _ => false
  end.

Definition same_row (a b : row) : bool :=
  match a, b with Exact a, Exact b => same a b | Near a, Near b => same_intervals a b | _, _ => false end.

Lemma same_row_equal : forall a b, same_row a b = true -> a = b.
Proof.
  intros [a | a] [b | b] H; simpl in H; try discriminate; f_equal; [apply same_equal, H |].
  revert b H. induction a as [| (x, x') a IH]; intros [| (y, y') b] H; simpl in H; try discriminate; [reflexivity |].
  rewrite !andb_true_iff, !Z.eqb_eq in H. destruct H as ((-> & ->) & H). f_equal. apply IH, H.
Qed.

(** Rows with what came of them, one for each place; a new one takes the place of an old one. *)
Definition table : Type := PositiveMap.t (row * row).

(** The place of a row is a hash of its numbers. Rows with the same place are compared entry by entry. *)
Definition place_bits : Z := 8191.
Definition stirred (h z : Z) : Z := Z.land (Z.shiftl h 5 + h + z)%Z place_bits.
Definition place (r : row) : positive :=
  match r with
  | Exact l => Z.to_pos (1 + fold_left stirred l 0)%Z
  | Near l => Z.to_pos (1 + fold_left (fun h p => stirred h (fst p)) l 0)%Z
  end.

(** What came of a row, if the table has it. *)
Definition recalled (t : table) (r : row) : option row :=
  match PositiveMap.find (place r) t with Some (a, b) => if same_row a r then Some b else None | None => None end.

(** What a table has is what came of its rows. *)
Definition recalls (step : row -> option row) (t : table) : Prop :=
  forall p a b, PositiveMap.find p t = Some (a, b) -> step a = Some b.

Lemma recalled_right : forall step t r b, recalls step t -> recalled t r = Some b -> step r = Some b.
Proof.
  intros step t r b G H. unfold recalled in H. destruct (PositiveMap.find (place r) t) as [(a, b') |] eqn:F; [| discriminate].
  destruct (same_row a r) eqn:S; [| discriminate]. inversion H; subst b'. rewrite <- (same_row_equal _ _ S). exact (G _ _ _ F).
Qed.

Lemma recalls_more : forall step t r b, recalls step t -> step r = Some b -> recalls step (PositiveMap.add (place r) (r, b) t).
Proof.
  intros step t r b G S p a b' F. destruct (Pos.eq_dec (place r) p) as [<- | D].
  - rewrite PositiveMap.gss in F. inversion F; subst. exact S.
  - rewrite PositiveMap.gso in F by congruence. exact (G _ _ _ F).
Qed.

Lemma recalls_nothing : forall step, recalls step (PositiveMap.empty (row * row)).
Proof. intros step p a b F. rewrite PositiveMap.gempty in F. discriminate. Qed.

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
Notation within := (within k).
Notation sum_z := (sum_z f k c).
Notation row_is := (row_is k).
Notation linear_z := (linear_z f k c).
Notation linear_near := (linear_near f k c).
Notation map_row := (map_row f k c).
Notation feed_forward_row := (feed_forward_row f k c).
Notation pattern_z := (pattern_z f k c).
Notation averages := (averages f k c).

(** *** Attention *)

(** A map whose image is known exactly. *)
Definition exact_row (ns : list neuron) (r : row) : option (list Z) :=
  match map_row ns r with Some (Exact l) => Some l | _ => None end.

(** Patterns that have been found before: of these keys, by queries. *)
Definition found : Type := list (list Z) * list (list Z * pattern).
Definition nothing : found := ([], []).
Definition found_right (m : found) : Prop := forall q p, In (q, p) (snd m) -> pattern_z (fst m) q = Some p.

(** A head with its keys, its values, and patterns of its keys that may come next. *)
Definition ready : Type := head * list (list Z) * list row * list (list Z * pattern).

Definition ready_of (rows : list row) (h : head) (p : ready) : Prop :=
  let '(h', ks, vs, l) := p in
  h' = h /\ all (exact_row (key h)) rows = Some ks /\ all (map_row (value h)) rows = Some vs /\
  values_fit f c (length (value h)) vs = true /\ forall q p, In (q, p) l -> pattern_z ks q = Some p.

Definition prepared (rows : list row) (h : head) (m : found) : option ready :=
  match all (exact_row (key h)) rows with
  | None => None
  | Some ks =>
    match all (map_row (value h)) rows with
    | None => None
    | Some vs => if values_fit f c (length (value h)) vs then Some (h, ks, vs, if same_rows (fst m) ks then snd m else []) else None
    end
  end.

Fixpoint all_prepared (rows : list row) (hs : list head) (ms : list found) : option (list ready) :=
  match hs with
  | [] => Some []
  | h :: hs =>
    match prepared rows h (hd nothing ms) with
    | None => None
    | Some p => match all_prepared rows hs (tl ms) with Some ps => Some (p :: ps) | None => None end
    end
  end.

(** The pattern of a query, which may be the next that has been found. *)
Definition next_pattern (l : list (list Z * pattern)) (ks : list (list Z)) (q : list Z) : option pattern :=
  match l with (q', p) :: _ => if same q' q then Some p else pattern_z ks q | [] => pattern_z ks q end.

Definition next (p : ready) : ready := let '(h, ks, vs, l) := p in (h, ks, vs, tl l).

Definition asked (x : row) (p : ready) : option (list Z) :=
  let '(h, ks, vs, l) := p in
  match exact_row (query h) x with
  | None => None
  | Some q => match next_pattern l ks q with Some p => averages p (length (value h)) vs | None => None end
  end.

Definition attention_row (ps : list ready) (W_O : list neuron) (skip : bool) (x : row) : option row :=
  match all (asked x) ps with
  | None => None
  | Some os =>
      or_near (exactly (fun x => linear_z false W_O (skipping_z skip W_O x) (concat os)) x)
        (fun l => linear_near W_O (skipping_near skip W_O l) (map point (concat os))) x
  end.

Fixpoint attend (ps : list ready) (W_O : list neuron) (skip : bool) (xs : list row) : option (list row) :=
  match xs with
  | [] => Some []
  | x :: xs =>
    match attention_row ps W_O skip x with
    | None => None
    | Some y => match attend (map next ps) W_O skip xs with Some ys => Some (y :: ys) | None => None end
    end
  end.

(** The rows of a block that ask. *)
Definition askers {A} (who : attends) (rows : list A) : list A := map snd (asking who rows).

Definition attention_z (hs : list head) (W_O : list neuron) (skip : bool) (who : attends) (ms : list found) (rows : list row) : option (list row) :=
  match who with
  | Causal =>
      all (fun a => match all_prepared (fst a) hs [] with Some ps => attention_row ps W_O skip (snd a) | None => None end)
        (asking Causal rows)
  | _ => match all_prepared rows hs ms with Some ps => attend ps W_O skip (askers who rows) | None => None end
  end.

(** What is worth finding again: the patterns of all rows that ask. *)
Definition learned (who : attends) (rows : list row) (h : head) : found :=
  match who, all (exact_row (key h)) rows with
  | Causal, _ | _, None => nothing
  | _, Some ks =>
      (ks, flat_map (fun x => match exact_row (query h) x with
                              | Some q => match pattern_z ks q with Some p => [(q, p)] | None => [] end
                              | None => [] end) (askers who rows))
  end.

Lemma learned_right : forall who rows h, found_right (learned who rows h).
Proof.
  intros who rows h. assert (N : found_right nothing) by (intros q p []). unfold learned.
  destruct (all (exact_row (key h)) rows) as [ks |]; [| destruct who; exact N].
  assert (X : found_right (ks, flat_map (fun x => match exact_row (query h) x with
    | Some q => match pattern_z ks q with Some p => [(q, p)] | None => [] end | None => [] end) (askers who rows))).
  { intros q p I. cbn [fst snd] in *. apply in_flat_map in I. destruct I as (x & _ & I). destruct (exact_row (query h) x) as [q' |]; [| destruct I].
    destruct (pattern_z ks q') as [p' |] eqn:E; [| destruct I]. destruct I as [I | []]. inversion I; subst. exact E. }
  destruct who; [exact X | exact N | exact X].
Qed.

Lemma exact_row_sound : forall ns r l x ys, exact_row ns r = Some l -> row_is r x -> linear_run f k ns (alone ns) x ys -> ys = map number l.
Proof.
  intros ns r l x ys H X R. unfold exact_row in H. destruct (map_row ns r) as [[l' |] |] eqn:E; try discriminate. inversion H; subst l'.
  exact (map_row_sound f f_usable far k k_fits c c_right ns r (Exact l) x ys E X R).
Qed.

Lemma prepared_ready : forall rows h m p, found_right m -> prepared rows h m = Some p -> ready_of rows h p.
Proof.
  intros rows h m p G H. unfold prepared in H. destruct (all (exact_row (key h)) rows) as [ks |] eqn:Ek; [| discriminate].
  destruct (all (map_row (value h)) rows) as [vs |] eqn:Ev; [| discriminate].
  destruct (values_fit f c (length (value h)) vs) eqn:Fv; [| discriminate]. inversion H; subst p. clear H.
  split; [reflexivity |]. split; [exact Ek |]. split; [exact Ev |]. split; [exact Fv |].
  destruct (same_rows (fst m) ks) eqn:S; [| intros q p []]. apply same_rows_equal in S. subst ks. exact G.
Qed.

Lemma all_prepared_ready : forall rows hs ms ps, Forall found_right ms -> all_prepared rows hs ms = Some ps -> Forall2 (ready_of rows) hs ps.
Proof.
  induction hs as [| h hs IH]; intros ms ps G H; simpl in H; [inversion H; constructor |].
  destruct (prepared rows h (hd nothing ms)) as [p |] eqn:P; [| discriminate]. destruct (all_prepared rows hs (tl ms)) as [ps' |] eqn:E; [| discriminate].
  inversion H; subst ps. constructor.
  - apply (prepared_ready rows h (hd nothing ms)); [| exact P]. destruct G; [intros q r [] | assumption].
  - apply (IH (tl ms)); [| exact E]. destruct G; [constructor | assumption].
Qed.

Lemma next_ready : forall rows h p, ready_of rows h p -> ready_of rows h (next p).
Proof.
  intros rows h (((h', ks), vs), l) (A & B & C & D & G). simpl. repeat split; try assumption.
  intros q p I. apply G. destruct l; [destruct I | right; exact I].
Qed.

Lemma asked_sound : forall rows xs x y h p o os, Forall2 row_is rows xs -> row_is x y -> ready_of rows h p -> asked x p = Some o ->
  head_run f exponential k xs y h os -> os = map number o.
Proof.
  intros rows xs x y h (((h', ks), vs), l) o os Xs X (-> & Ek & Ev & Fv & G) A (q & ks' & vs' & s & Hq & Hk & Hv & Hs & Ho).
  cbn [asked] in A. destruct (exact_row (query h) x) as [q' |] eqn:Eq; [| discriminate].
  rewrite (exact_row_sound _ _ _ _ _ Eq X Hq) in Hs.
  assert (P : next_pattern l ks q' = pattern_z ks q').
  { unfold next_pattern. destruct l as [| (q0, p0) l]; [reflexivity |]. destruct (same q0 q') eqn:S; [| reflexivity].
    apply same_equal in S. subst q0. symmetry. apply G. left. reflexivity. }
  rewrite P in A.
  assert (ks' = map (map number) ks) as ->.
  { refine (all_run _ _ _ _ _ (map number) _ _ _ Ek _ (compose _ _ _ _ _ _ _ _ Xs Hk)). intros a b z _ S (w & W & R).
    exact (exact_row_sound _ _ _ _ _ S W R). }
  assert (Vs : Forall2 row_is vs vs').
  { refine (all_related _ _ _ _ _ _ _ _ _ Ev _ (compose _ _ _ _ _ _ _ _ Xs Hv)). intros a b z _ S (w & W & R).
    exact (map_row_sound f f_usable far k k_fits c c_right _ _ _ _ _ S W R). }
  refine (head_sound f f_usable far far_held k k_fits c c_right exponential exponential_usual ks vs (length (value h)) q' o s vs' os _ _ Fv Vs Hs Ho).
  - unfold head_z. destruct (pattern_z ks q') as [p |]; [exact A | discriminate].
  - rewrite (all_length _ _ _ _ _ Ek), (all_length _ _ _ _ _ Ev). reflexivity.
Qed.

Lemma attention_row_sound : forall rows xs hs ps W_O skip x x' y ys, Forall2 row_is rows xs -> Forall2 (ready_of rows) hs ps ->
  attention_row ps W_O skip x = Some y -> row_is x x' -> attention_run f exponential k hs W_O skip xs x' ys -> row_is y ys.
Proof.
  intros rows xs hs ps W_O skip x x' y ys Xs P A X (os & H1 & H2). unfold attention_row in A.
  destruct (all (asked x) ps) as [os' |] eqn:E; [| discriminate].
  assert (os = map (map number) os') as ->.
  { clear A H2. revert ps os' P E. induction H1 as [| h o hs os Ho _ IH]; intros ps os' P E; inversion P as [| ? p ? ps' Hp P']; subst; simpl in E.
    - inversion E. reflexivity.
    - destruct (asked x p) as [o' |] eqn:Eo; [| discriminate]. destruct (all (asked x) ps') as [os0 |] eqn:Es; [| discriminate].
      inversion E; subst os'. simpl. f_equal.
      + exact (asked_sound rows xs x x' h p o' o Xs X Hp Eo Ho).
      + exact (IH ps' os0 P' Es). }
  rewrite <- concat_map in H2.
  refine (or_near_sound k (fun z zs => linear_run f k W_O (skipping skip W_O z) (map number (concat os')) zs) _ _ x y x' ys _ _ A X H2).
  - intros l z zs S R. rewrite skipping_number in R. exact (linear_sound f f_usable far k k_fits c c_right _ _ _ _ _ S R).
  - intros l z w zs S W R. exact (linear_near_sound f f_usable far k k_fits c c_right _ _ _ _ _ _ _ S (points_within k _) (skipping_beside k skip W_O l w W) R).
Qed.

Lemma attend_sound : forall rows xs hs W_O skip, Forall2 row_is rows xs -> forall asking asking' ps rows' ys,
  Forall2 (ready_of rows) hs ps -> attend ps W_O skip asking = Some rows' -> Forall2 row_is asking asking' ->
  Forall2 (attention_run f exponential k hs W_O skip xs) asking' ys -> Forall2 row_is rows' ys.
Proof.
  intros rows xs hs W_O skip Xs asking asking' ps rows' ys P A X. revert ps rows' ys P A.
  induction X as [| x x' asking asking' Hx _ IH]; intros ps rows' ys P A R; inversion R as [| ? y ? ys' Hy R']; subst; simpl in A.
  - inversion A. constructor.
  - destruct (attention_row ps W_O skip x) as [y' |] eqn:E; [| discriminate].
    destruct (attend (map next ps) W_O skip asking) as [rows0 |] eqn:E'; [| discriminate]. inversion A; subst rows'. constructor.
    + exact (attention_row_sound rows xs hs ps W_O skip x x' y' y Xs P E Hx Hy).
    + refine (IH (map next ps) rows0 ys' _ E' R'). clear - P. induction P as [| h p hs ps Hp _ IH]; simpl; constructor; [apply next_ready, Hp | exact IH].
Qed.

Lemma asking_related : forall A B (R : A -> B -> Prop) who rows xs, Forall2 R rows xs ->
  Forall2 (fun a b => Forall2 R (fst a) (fst b) /\ R (snd a) (snd b)) (asking who rows) (asking who xs).
Proof.
  intros A B R who rows xs H. assert (L : length xs = length rows) by exact (related_length _ _ _ _ _ H).
  assert (F : forall n, Forall2 R (firstn n rows) (firstn n xs)).
  { clear L. induction H as [| a b rows xs Hab _ IH]; intros [| n]; simpl; constructor; [exact Hab | apply IH]. }
  assert (S : forall n, Forall2 R (skipn n rows) (skipn n xs)).
  { clear L F. induction H as [| a b rows xs Hab H' IH]; intros [| n]; simpl; try constructor; try assumption. apply IH. }
  destruct who; unfold asking; rewrite ?L.
  - assert (X : forall l m, Forall2 R l m -> Forall2 (fun a b => Forall2 R (fst a) (fst b) /\ R (snd a) (snd b)) (map (fun x => (rows, x)) l) (map (fun x => (xs, x)) m)).
    { intros l m X. induction X; simpl; constructor; [split; assumption | assumption]. }
    apply X, H.
  - generalize (seq 0 (length rows)) as numbers. intro numbers.
    assert (X : forall l m, Forall2 R l m -> Forall2 (fun a b => Forall2 R (fst a) (fst b) /\ R (snd a) (snd b))
      (map (fun p : nat * A => (firstn (Datatypes.S (fst p)) rows, snd p)) (combine numbers l))
      (map (fun p : nat * B => (firstn (Datatypes.S (fst p)) xs, snd p)) (combine numbers m))).
    { induction numbers as [| n numbers IH]; intros l m X; [constructor |]. destruct X; [constructor |]. cbn [combine map fst snd]. constructor; [split; [apply F | assumption] | apply IH; assumption]. }
    apply X, H.
  - assert (X : forall l m, Forall2 R l m -> Forall2 (fun a b => Forall2 R (fst a) (fst b) /\ R (snd a) (snd b)) (map (fun x => (rows, x)) l) (map (fun x => (xs, x)) m)).
    { intros l m X. induction X; simpl; constructor; [split; assumption | assumption]. }
    apply X, S.
Qed.

Lemma attention_sound : forall hs W_O skip who ms rows xs rows' ys, Forall found_right ms -> attention_z hs W_O skip who ms rows = Some rows' ->
  Forall2 row_is rows xs -> block_run f exponential k (Attention hs W_O skip who) xs ys -> Forall2 row_is rows' ys.
Proof.
  intros hs W_O skip who ms rows xs rows' ys G H Xs R. cbn [block_run] in R.
  pose proof (asking_related _ _ _ who rows xs Xs) as As.
  assert (X : who <> Causal -> forall ps, all_prepared rows hs ms = Some ps -> attend ps W_O skip (askers who rows) = Some rows' -> Forall2 row_is rows' ys).
  { intros D ps P A. refine (attend_sound rows xs hs W_O skip Xs (askers who rows) (askers who xs) ps rows' ys (all_prepared_ready rows hs ms ps G P) A _ _).
    - unfold askers. clear - As. induction As as [| a b l m (_ & Hab) _ IH]; simpl; constructor; assumption.
    - unfold askers. assert (Y : Forall (fun a => fst a = xs) (asking who xs)).
      { destruct who; [| contradiction D; reflexivity |]; apply Forall_forall; intros a I; apply in_map_iff in I; destruct I as (z & <- & _); reflexivity. }
      clear - R Y. induction R as [| a y l ys Ha _ IH]; simpl; constructor; inversion Y; subst; [exact Ha | apply IH; assumption]. }
  destruct who.
  - cbn [attention_z] in H. destruct (all_prepared rows hs ms) as [ps |]; [| discriminate]. exact (X ltac:(discriminate) ps eq_refl H).
  - cbn [attention_z] in H. refine (all_related _ _ _ _ _ _ _ _ _ H _ (compose _ _ _ _ _ _ _ _ As R)).
    intros (read, x) y zs _ S ((read', x') & (Hr & Hx) & Z). cbn [fst snd] in *.
    destruct (all_prepared read hs []) as [ps |] eqn:P; [| discriminate].
    exact (attention_row_sound read read' hs ps W_O skip x x' y zs Hr (all_prepared_ready read hs [] ps (Forall_nil _) P) S Hx Z).
  - cbn [attention_z] in H. destruct (all_prepared rows hs ms) as [ps |]; [| discriminate]. exact (X ltac:(discriminate) ps eq_refl H).
Qed.

(** *** Groups of blocks that map each row by itself *)

(** A row behind the neurons of a group. *)
Fixpoint group_row (g : list block) (r : row) : option row :=
  match g with
  | [] => Some r
  | FeedForward W_in W_out skip :: g => match feed_forward_row W_in W_out skip r with Some r' => group_row g r' | None => None end
  | Attention _ _ _ _ :: _ => None
  end.

Lemma group_row_app : forall g1 g2 r, group_row (g1 ++ g2) r = match group_row g1 r with Some r' => group_row g2 r' | None => None end.
Proof.
  induction g1 as [| b g1 IH]; intros g2 r; simpl; [reflexivity |]. destruct b; [| reflexivity].
  destruct (feed_forward_row W_in W_out skip r); [apply IH | reflexivity].
Qed.

Lemma group_sound : forall g rows rows' xs ys, all (group_row g) rows = Some rows' -> Forall2 row_is rows xs ->
  blocks_run f exponential k g xs ys -> Forall2 row_is rows' ys.
Proof.
  induction g as [| b g IH]; intros rows rows' xs ys H X R.
  - simpl in R. subst ys. assert (E : all (group_row []) rows = Some rows) by (clear; induction rows as [| r rows IH]; [reflexivity | cbn [all]; rewrite IH; reflexivity]).
    rewrite E in H. inversion H; subst rows'. exact X.
  - destruct R as (between & R1 & R2). destruct b as [W_in W_out skip | hs W_O skip who]; cycle 1.
    { destruct rows as [| r rows]; [| discriminate]. inversion X; subst xs. simpl in H. inversion H; subst rows'.
      assert (between = []) as -> by (destruct who; inversion R1; reflexivity). apply (IH [] [] [] ys); [reflexivity | constructor | exact R2]. }
    assert (M : exists mid, all (feed_forward_row W_in W_out skip) rows = Some mid /\ all (group_row g) mid = Some rows').
    { clear - H. revert rows' H. induction rows as [| r rows IH]; intros rows' H; [exists []; split; [reflexivity | exact H] |]. cbn [all group_row] in H |- *.
      destruct (feed_forward_row W_in W_out skip r) as [r1 |]; [| discriminate]. destruct (group_row g r1) as [r2 |] eqn:E; [| discriminate].
      destruct (all (fun r => match feed_forward_row W_in W_out skip r with Some r' => group_row g r' | None => None end) rows) as [m |] eqn:F; [| discriminate].
      inversion H; subst rows'. destruct (IH m F) as (mid & A & B). exists (r1 :: mid). rewrite A. split; [reflexivity |]. cbn [all]. rewrite E, B. reflexivity. }
    destruct M as (mid & A & B). refine (IH mid rows' between ys B _ R2).
    refine (all_related _ _ _ _ _ _ _ _ _ A _ (compose _ _ _ _ _ _ _ _ X R1)). intros a b y _ S (z & Z & Y).
    exact (feed_forward_row_sound f f_usable far k k_fits c c_right _ _ _ _ _ _ _ S Z Y).
Qed.

(** Groups one behind the other, each with what came of rows before it behind the last of them. *)
Definition chain : Type := list (list block * table).
Definition chained (l : chain) : list block := concat (map fst l).

Fixpoint chain_right (l : chain) : Prop :=
  match l with [] => True | (g, t) :: l => recalls (group_row (g ++ chained l)) t /\ chain_right l end.

Fixpoint chain_row (l : chain) (r : row) : option (row * chain) :=
  match l with
  | [] => Some (r, [])
  | (g, t) :: l =>
    match recalled t r with
    | Some y => Some (y, (g, t) :: l)
    | None =>
      match group_row g r with
      | None => None
      | Some r' => match chain_row l r' with Some (y, l') => Some (y, (g, PositiveMap.add (place r) (r, y) t) :: l') | None => None end
      end
    end
  end.

Fixpoint chain_rows (l : chain) (rows : list row) : option (list row * chain) :=
  match rows with
  | [] => Some ([], l)
  | r :: rows =>
    match chain_row l r with
    | None => None
    | Some (y, l) => match chain_rows l rows with Some (ys, l) => Some (y :: ys, l) | None => None end
    end
  end.

Lemma chain_row_spec : forall l r y l', chain_right l -> chain_row l r = Some (y, l') ->
  group_row (chained l) r = Some y /\ chain_right l' /\ map fst l' = map fst l.
Proof.
  induction l as [| (g, t) l IH]; intros r y l' G H; cbn [chain_row] in H.
  - inversion H; subst. split; [reflexivity |]. split; [exact I | reflexivity].
  - destruct G as (Gt & Gl). destruct (recalled t r) as [y' |] eqn:E.
    + inversion H; subst. split; [exact (recalled_right _ _ _ _ Gt E) |]. split; [split; assumption | reflexivity].
    + destruct (group_row g r) as [r' |] eqn:Eg; [| discriminate]. destruct (chain_row l r') as [(y', l0) |] eqn:El; [| discriminate].
      inversion H; subst y' l'. destruct (IH r' y l0 Gl El) as (A & B & C).
      assert (S : group_row (g ++ chained l) r = Some y) by (rewrite group_row_app, Eg; exact A).
      split; [exact S |]. split; [| cbn [map fst]; rewrite C; reflexivity]. split; [| exact B]. unfold chained. rewrite C. apply recalls_more; assumption.
Qed.

Lemma chain_rows_spec : forall rows l ys l', chain_right l -> chain_rows l rows = Some (ys, l') ->
  all (group_row (chained l)) rows = Some ys /\ chain_right l' /\ map fst l' = map fst l.
Proof.
  induction rows as [| r rows IH]; intros l ys l' G H; cbn [chain_rows] in H.
  - inversion H; subst. repeat split; assumption.
  - destruct (chain_row l r) as [(y, l1) |] eqn:E; [| discriminate]. destruct (chain_rows l1 rows) as [(ys', l2) |] eqn:F; [| discriminate].
    inversion H; subst ys l'. destruct (chain_row_spec _ _ _ _ G E) as (A & B & C). destruct (IH l1 ys' l2 B F) as (A' & B' & C').
    assert (X : chained l1 = chained l) by (unfold chained; rewrite C; reflexivity).
    cbn [all]. rewrite A. rewrite X in A'. rewrite A'. split; [reflexivity |]. split; [exact B' | congruence].
Qed.

(** *** Stages: a chain of groups, or a block of attention with what has been found of its heads *)

Inductive stage := Rows (l : chain) | Mixes (hs : list head) (W_O : list neuron) (skip : bool) (who : attends) (ms : list found).

Definition blocks_of (s : stage) : list block :=
  match s with Rows l => chained l | Mixes hs W_O skip who _ => [Attention hs W_O skip who] end.

Definition stage_right (s : stage) : Prop :=
  match s with Rows l => chain_right l | Mixes _ _ _ _ ms => Forall found_right ms end.

Definition stage_z (s : stage) (rows : list row) : option (list row * stage) :=
  match s with
  | Rows l => match chain_rows l rows with Some (rows', l') => Some (rows', Rows l') | None => None end
  | Mixes hs W_O skip who ms =>
    let ms := match ms with [] => map (learned who rows) hs | _ => ms end in
    match attention_z hs W_O skip who ms rows with Some rows' => Some (rows', Mixes hs W_O skip who ms) | None => None end
  end.

Lemma found_or_learned : forall who rows hs ms, Forall found_right ms ->
  Forall found_right (match ms with [] => map (learned who rows) hs | _ => ms end).
Proof.
  intros who rows hs [| m ms] G; [| exact G]. apply Forall_forall. intros m I. apply in_map_iff in I. destruct I as (h & <- & _). apply learned_right.
Qed.

Lemma stage_kept : forall s rows rows' s', stage_right s -> stage_z s rows = Some (rows', s') -> stage_right s' /\ blocks_of s' = blocks_of s.
Proof.
  intros [l | hs W_O skip who ms] rows rows' s' G H; cbn [stage_z] in H.
  - destruct (chain_rows l rows) as [(rows0, l') |] eqn:E; [| discriminate]. inversion H; subst rows0 s'.
    destruct (chain_rows_spec _ _ _ _ G E) as (_ & B & C). split; [exact B |]. unfold blocks_of, chained. rewrite C. reflexivity.
  - apply (found_or_learned who rows hs) in G. cbv zeta in H. set (found_here := match ms with [] => map (learned who rows) hs | _ => ms end) in *. clearbody found_here.
    destruct (attention_z hs W_O skip who found_here rows) as [rows0 |]; [| discriminate]. inversion H; subst rows0 s'. split; [exact G | reflexivity].
Qed.

Lemma stage_sound : forall s rows xs rows' ys s', stage_right s -> stage_z s rows = Some (rows', s') -> Forall2 row_is rows xs ->
  blocks_run f exponential k (blocks_of s) xs ys -> Forall2 row_is rows' ys.
Proof.
  intros [l | hs W_O skip who ms] rows xs rows' ys s' G H X R; cbn [stage_z] in H.
  - destruct (chain_rows l rows) as [(rows0, l') |] eqn:E; [| discriminate]. inversion H; subst rows0 s'.
    destruct (chain_rows_spec _ _ _ _ G E) as (A & _). exact (group_sound _ _ _ _ _ A X R).
  - apply (found_or_learned who rows hs) in G. cbv zeta in H. set (found_here := match ms with [] => map (learned who rows) hs | _ => ms end) in *. clearbody found_here.
    destruct (attention_z hs W_O skip who found_here rows) as [rows0 |] eqn:E; [| discriminate]. inversion H; subst rows0 s'.
    destruct R as (between & R1 & R2). simpl in R2. subst between. exact (attention_sound _ _ _ _ _ _ _ _ _ G E X R1).
Qed.

Fixpoint stages_z (ss : list stage) (rows : list row) : option (list row * list stage) :=
  match ss with
  | [] => Some (rows, [])
  | s :: ss =>
    match stage_z s rows with
    | None => None
    | Some (rows, s) => match stages_z ss rows with Some (rows, ss) => Some (rows, s :: ss) | None => None end
    end
  end.

Definition all_blocks (ss : list stage) : list block := concat (map blocks_of ss).

Lemma blocks_run_app : forall g1 g2 xs ys, blocks_run f exponential k (g1 ++ g2) xs ys ->
  exists between, blocks_run f exponential k g1 xs between /\ blocks_run f exponential k g2 between ys.
Proof.
  induction g1 as [| b g1 IH]; intros g2 xs ys R; [exists xs; split; [reflexivity | exact R] |].
  destruct R as (m & R1 & R2). destruct (IH g2 m ys R2) as (between & A & B). exists between. split; [exists m; split; assumption | exact B].
Qed.

Lemma stages_kept : forall ss rows rows' ss', Forall stage_right ss -> stages_z ss rows = Some (rows', ss') ->
  Forall stage_right ss' /\ all_blocks ss' = all_blocks ss.
Proof.
  induction ss as [| s ss IH]; intros rows rows' ss' G H; cbn [stages_z] in H.
  - inversion H; subst. split; [constructor | reflexivity].
  - destruct (stage_z s rows) as [(rows1, s1) |] eqn:E; [| discriminate]. destruct (stages_z ss rows1) as [(rows2, ss1) |] eqn:F; [| discriminate].
    inversion H; subst rows2 ss'. inversion G as [| ? ? Gs Gss]; subst. destruct (stage_kept _ _ _ _ Gs E) as (A & B). destruct (IH _ _ _ Gss F) as (A' & B').
    split; [constructor; assumption |]. unfold all_blocks in *. cbn [map concat]. rewrite B, B'. reflexivity.
Qed.

Lemma stages_sound : forall ss rows xs rows' ys ss', Forall stage_right ss -> stages_z ss rows = Some (rows', ss') -> Forall2 row_is rows xs ->
  blocks_run f exponential k (all_blocks ss) xs ys -> Forall2 row_is rows' ys.
Proof.
  induction ss as [| s ss IH]; intros rows xs rows' ys ss' G H X R; cbn [stages_z] in H.
  - inversion H; subst. simpl in R. subst ys. exact X.
  - destruct (stage_z s rows) as [(rows1, s1) |] eqn:E; [| discriminate]. destruct (stages_z ss rows1) as [(rows2, ss1) |] eqn:F; [| discriminate].
    inversion H; subst rows2 ss'. inversion G as [| ? ? Gs Gss]; subst. destruct (blocks_run_app _ _ _ _ R) as (between & R1 & R2).
    exact (IH _ _ _ _ _ Gss F (stage_sound _ _ _ _ _ _ Gs E X R1) R2).
Qed.

Definition embed_z (x : list Z * list Z) : option (list Z) :=
  all (fun ab => sum_z [Z.shiftl (fst ab) k; Z.shiftl (snd ab) k]) (combine (fst x) (snd x)).

Lemma embed_sound : forall x y ys, embed_z x = Some y -> embed_run f k x ys -> ys = map number y.
Proof.
  intros x y ys H R. refine (all_run _ _ _ _ _ number _ _ _ H _ R). intros (a, b) v w _ S X. cbn [fst snd] in *.
  exact (sum_z_sound f f_usable k k_fits far c c_right _ _ _ _ (given_stand f k k_fits [a; b]) S X).
Qed.

End Network.

(** *** The stages of a model *)

(** A group has blocks of so many weights before another is begun; this changes how long the check takes, and nothing else. *)
Definition group_weights : nat := 600.
Definition light (g : list block) : bool := (list_sum (map (fun b => length (block_entries b)) g) <? group_weights)%nat.

(** Blocks of attention alone, and those between them in groups. *)
Fixpoint stages (bs : list block) : list stage :=
  match bs with
  | [] => []
  | Attention hs W_O skip who :: bs => Mixes hs W_O skip who [] :: stages bs
  | b :: bs =>
    match stages bs with
    | Rows ((g, t) :: l) :: ss => if light g then Rows ((b :: g, t) :: l) :: ss else Rows (([b], PositiveMap.empty _) :: (g, t) :: l) :: ss
    | ss => Rows [([b], PositiveMap.empty _)] :: ss
    end
  end.

Lemma stages_all_blocks : forall bs, all_blocks (stages bs) = bs.
Proof.
  induction bs as [| [W_in W_out skip | hs W_O skip who] bs IH]; [reflexivity | |].
  - cbn [stages]. unfold all_blocks in *. rewrite <- IH at 2. destruct (stages bs) as [| [[| (g, t) l] | hs W_O skip' who ms] ss]; try reflexivity.
    destruct (light g); reflexivity.
  - unfold all_blocks in *. cbn [stages map concat blocks_of app]. rewrite IH. reflexivity.
Qed.

(** Nothing has been computed yet. *)
Definition fresh (s : stage) : Prop :=
  match s with Rows l => Forall (fun a => snd a = PositiveMap.empty _) l | Mixes _ _ _ _ ms => ms = [] end.

Lemma stages_fresh : forall bs, Forall fresh (stages bs).
Proof.
  induction bs as [| [W_in W_out skip | hs W_O skip who] bs IH]; [constructor | |].
  - cbn [stages]. destruct (stages bs) as [| [[| (g, t) l] | hs W_O skip' who ms] ss]; try (constructor; [repeat constructor | exact IH]).
    inversion IH as [| ? ? Fs Fss]; subst. simpl in Fs. inversion Fs as [| ? ? E Fl]; subst. cbn [snd] in E. subst t.
    destruct (light g); constructor; try exact Fss; simpl; repeat constructor; exact Fl.
  - cbn [stages]. constructor; [reflexivity | exact IH].
Qed.

Lemma fresh_right : forall f k c s, fresh s -> stage_right f k c s.
Proof.
  intros f k c [l | hs W_O skip who ms] H; simpl in *; [| subst ms; constructor].
  induction H as [| (g, t) l E _ IH]; simpl; [exact I |]. cbn [snd] in E. subst t. split; [apply recalls_nothing | exact IH].
Qed.

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

(** What is known of the logits behind [tokens], and the stages with what has been computed for them. *)
Definition model_z (ss : list stage) (tokens : list nat) : option (row * list stage) :=
  match embedded tokens with
  | None => None
  | Some rows =>
    match stages_z f k c ss (map Exact rows) with
    | None => None
    | Some (rows', ss') => match map_row f k c (W_U m) (last rows' (Exact [])) with Some l => Some (l, ss') | None => None end
    end
  end.

Lemma model_kept : forall ss ss' tokens l, Forall (stage_right f k c) ss -> all_blocks ss = blocks m -> model_z ss tokens = Some (l, ss') ->
  Forall (stage_right f k c) ss' /\ all_blocks ss' = blocks m.
Proof.
  intros ss ss' tokens l G B H. unfold model_z in H. destruct (embedded tokens) as [r |]; [| discriminate].
  destruct (stages_z f k c ss (map Exact r)) as [(r', ss1) |] eqn:E; [| discriminate].
  destruct (map_row f k c (W_U m) (last r' (Exact []))) as [l' |]; [| discriminate]. inversion H; subst l' ss1.
  destruct (stages_kept f k c _ _ _ _ G E) as (A & C). split; [exact A | congruence].
Qed.

(** What the checker computes of the logits holds in every run. *)
Theorem model_sound : forall exponential ss ss' tokens logits l, usable f -> (1 <= far)%Z /\ held f (- IZR far) -> scale_fits f k ->
  c = constants_of f far k -> usual far exponential -> Forall (stage_right f k c) ss -> all_blocks ss = blocks m ->
  model_z ss tokens = Some (l, ss') -> run f exponential m tokens logits -> row_is k l logits.
Proof.
  intros exponential ss ss' tokens logits l Fu Fa K C U G B H (rows & rows' & H1 & H2 & H3). unfold model_z, embedded in H.
  destruct (all (embed_z f k c) _) as [r |] eqn:E1 in H; [| discriminate].
  destruct (stages_z f k c ss (map Exact r)) as [(r', ss1) |] eqn:E2; [| discriminate].
  destruct (map_row f k c (W_U m) (last r' (Exact []))) as [l' |] eqn:E3; [| discriminate]. inversion H; subst l' ss1. clear H.
  assert (rows = map (map (number k)) r) as ->.
  { refine (all_run _ _ _ _ _ (map (number k)) _ _ _ E1 _ H1). intros a b y _. apply (embed_sound f Fu far k K c C). }
  assert (X : Forall2 (row_is k) (map Exact r) (map (map (number k)) r)) by (clear; induction r; simpl; constructor; [reflexivity | assumption]).
  rewrite <- B in H2. pose proof (stages_sound f Fu far Fa k K c C exponential U ss _ _ _ _ _ G E2 X H2) as X'.
  refine (map_row_sound f Fu far k K c C _ _ _ _ _ E3 _ H3).
  clear - X'. induction X' as [| a b r' rows' Hab X IH]; [reflexivity |]. destruct X; [exact Hab | exact IH].
Qed.

End Constants.

End Models.
