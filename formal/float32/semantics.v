(** What a run of a transformer in float32, or in another binary format, is: a relation, not a function, so that every
    order of summation, every parenthesization and every use of fused multiply-add is a run. The theorems are about all
    runs, so the relation must contain what machines do; the more it allows, the stronger they are. Nothing is proved in
    this file: with [model.v] it is what a reader has to read, beside the claim in the file of a model.

    In the relation are
    - sums over any tree of any order of their terms;
    - partial sums and split accumulators;
    - accumulators that start from a shift, a skip row or an entry of a position, which may also come last or between;
    - products that are rounded, or fused with an addition;
    - products with a factor 0 that are left out;
    - all five rounding modes of IEEE 754;
    - stochastic rounding;
    - results that are kept in a longer format (an accumulator in float64 or an exact one), or rounded to the format later;
    - results below the smallest normal number that are flushed to 0;
    - a softmax as it is written, exp(s - max s) over its sum;
    - a division before or behind the average, or a product with the reciprocal;
    - sums and averages that are rescaled whenever a larger maximum comes, in blocks of any sizes (online softmax, flash
      attention);
    - blocks that are merged as a tree (split keys);
    - exponentials that are rounded for the average and not for their own sum, as flash attention in 16 bits has them;
    - queries, keys and values that are computed anew for each query.
    Operands flushed to 0 when they are read (DAZ) need no clause: see [flushed_on_reading] in exact_sums.v.

    Not in the relation, so nothing is claimed of them, are
    - products of factors that were rounded to TF32, bfloat16 or another shorter format;
    - several such products in place of one;
    - sums of several products that are shifted to the largest one and cut off there, as in tensor cores;
    - products of matrices by Strassen's method;
    - products in another association, as (q W_K') x in place of q (x W_K), or (w X) W_V (absorbed keys and values; einsum
      of three operands);
    - weights that were multiplied with each other beforehand;
    - weights that were quantized;
    - a number that one reader takes as it was stored, rounded, and another as it was before (compilers that fuse layers in
      16 bits), but for exponentials;
    - a quotient that is off by a unit in the last place or more (approximate division);
    - masks that add a finite number to a score;
    - a softmax without the maximum;
    - a softmax with another reference than the maximum of what has been seen (rescaling that is put off);
    - exp(s - logsumexp s);
    - parts that are merged by their logsumexp;
    - powers of 2 with a rounded log2 e, which are not 1 at the maximum or lose a gap of large scores;
    - scores that are kept in a shorter format.
    Of compensated sums nothing is claimed either, though none was found that is no run. Each line above is tried in
    tests/falsify/test_clauses_of_a_run.py: what machines compute is a run, and what is excluded has results that no run
    returns. *)

From Coq Require Import Reals List ZArith Permutation.
From Flocq Require Import Core.
From Float32 Require Export model.
Import ListNotations.
Open Scope R_scope.

(** *** Numbers *)

(** A binary format: integers below 2^precision times 2^e with e >= least; results below 2^safe do not overflow. *)
Record format := Format { precision : Z; least : Z; safe : Z }.
Definition float32 := Format 24 (-149) 127.
Definition bfloat16 := Format 8 (-133) 127.
Definition float16 := Format 11 (-24) 15.
Definition float64 := Format 53 (-1074) 1023.

(** A number in a run; [None] is an infinity or NaN, of which nothing is known: any number may follow from it. *)
Definition num := option R.

Section Format.

Variable f : format.

(** A real number that the format holds. *)
Definition held (x : R) : Prop := generic_format radix2 (FLT_exp (least f) (precision f)) x.

(** The exponent of the smallest normal number. *)
Definition normal : Z := (least f + precision f - 1)%Z.

(** What may be returned where [x] is the exact result: any [r] such that no number of the format lies between [x] and
    [r], whether the format holds [r] or not, so that [x] itself is returned where the format holds it; or 0 for what is
    smaller than the smallest normal number. From 2^safe on, anything. *)
Definition rounds (x : R) (y : num) : Prop :=
  Rabs x < bpow radix2 (safe f) ->
  exists r, y = Some r /\
    ((forall g, held g -> (g <= x -> g <= r) /\ (x <= g -> r <= g)) \/ (Rabs x < bpow radix2 normal /\ r = 0)).

Definition add (x y z : num) : Prop :=
  match x, y with Some a, Some b => rounds (a + b) z | _, _ => True end.
Definition sub (x y z : num) : Prop :=
  match x, y with Some a, Some b => rounds (a - b) z | _, _ => True end.
Definition mul (x y z : num) : Prop :=
  match x, y with Some a, Some b => rounds (a * b) z | _, _ => True end.
Definition div (x y z : num) : Prop :=
  match x, y with Some a, Some b => b <> 0 -> rounds (a / b) z | _, _ => True end.
(** A quotient, or a product with the reciprocal. *)
Definition quotient (x y z : num) : Prop := div x y z \/ exists r, div (Some 1) y r /\ mul x r z.
Definition fma (x y c z : num) : Prop :=
  match x, y, c with Some a, Some b, Some s => rounds (a * b + s) z | _, _, _ => True end.
Definition relu (x y : num) : Prop :=
  match x with Some a => y = Some (Rmax a 0) | None => True end.
Definition maximum (l : list num) (m : num) : Prop :=
  In None l \/ exists r, m = Some r /\ In m l /\ forall a, In (Some a) l -> a <= r.

(** *** Sums of products *)

(** (A sum that starts from 0, as accumulators do, is one of these runs: 0 + x is x, and a fused a b + 0 is the rounded
    product.) *)
Inductive sum_run : list (num * num) -> num -> Prop :=
  | sum_empty : sum_run [] (Some 0)
  | sum_product : forall a b y, mul a b y -> sum_run [(a, b)] y
  | sum_add : forall l1 l2 l x y z, l1 <> [] -> l2 <> [] -> sum_run l1 x -> sum_run l2 y -> Permutation (l1 ++ l2) l ->
      add x y z -> sum_run l z
  | sum_fma : forall a b l l' x z, sum_run l x -> Permutation ((a, b) :: l) l' -> fma a b x z -> sum_run l' z
  | sum_skip : forall (a b : R) (l l' : list (num * num)) x, sum_run l x -> Permutation ((Some a, Some b) :: l) l' ->
      a * b = 0 -> sum_run l' x.

(** A number that is a term by itself (a shift, an entry of a skip row) is a product with 1. *)
Definition given (x : num) : num * num := (x, Some 1).

(** *** Softmax *)

(** [exponential x y]: the machine's exponential may return [y] at [x]. *)
Variable exponential : R -> num -> Prop.
Definition expo (x y : num) : Prop := match x with Some a => exponential a y | None => True end.

(** Entry [c] of each row, and that for the first [width] entries. *)
Definition column (rows : list (list num)) (c : nat) : list num := map (fun v => nth c v None) rows.
Definition columns (width : nat) (rows : list (list num)) : list (list num) := map (column rows) (seq 0 width).

(** A part of the positions: the largest score m, and the sums of exp(s - m) times the entries of the rows. A position is
    such a part; parts are merged, any number at once, by exp(their m - the new m). (All positions merged at once are the
    softmax as it is written; a part merged with the positions of the next block is flash attention. Each sum may have
    exponentials of its own.) *)
Definition part : Type := num * list num.
Inductive part_run (width : nat) : list (num * list num) -> part -> Prop :=
  | part_position : forall s v, part_run width [(s, v)] (s, v)
  | part_merge : forall positions parts m d t, parts_run width positions parts ->
      maximum (map fst parts) m -> Forall2 (fun p x => sub (fst p) m x) parts d ->
      Forall2 (fun c a => exists e, Forall2 expo d e /\ sum_run (combine e c) a) (columns width (map snd parts)) t ->
      part_run width positions (m, t)
with parts_run (width : nat) : list (num * list num) -> list part -> Prop :=
  | parts_none : parts_run width [] []
  | parts_more : forall positions p others ps, part_run width positions p -> parts_run width others ps ->
      parts_run width (positions ++ others) (p :: ps).

(** A softmax with its average, from scores and rows of [width] values: each row begins with a 1, whose sum is that of
    the exponentials. The parts are divided at the end; or each exponential is, before the average. *)
Definition softmax_run (width : nat) (scores : list num) (rows : list (list num)) (o : list num) : Prop :=
  exists positions m z t,
    Permutation (combine scores (map (cons (Some 1)) rows)) positions /\ part_run (S width) positions (m, z :: t) /\
    (Forall2 (fun a b => quotient a z b) t o \/
     exists d e w, Forall2 (fun a b => sub a m b) scores d /\ Forall2 expo d e /\ Forall2 (fun a b => quotient a z b) e w /\
       Forall2 (fun c a => sum_run (combine w c) a) (columns width rows) o).

(** *** Layers *)

Variable k : Z. (* the scale of the stored integers *)
Definition number (z : Z) : num := Some (IZR z * bpow radix2 (- k)).

(** Of a neuron: its products, its shift, and what is added besides, as an entry of a skip row. *)
Definition neuron_run (x : list num) (n : neuron * list num) (y : num) : Prop :=
  sum_run (combine x (map number (reads (fst n))) ++ map given (map number (shift (fst n)) ++ snd n)) y.

Definition linear_run (ns : list neuron) (also : list (list num)) (x y : list num) : Prop :=
  Forall2 (neuron_run x) (combine ns also) y.

Definition alone (ns : list neuron) : list (list num) := map (fun _ => []) ns.
Definition skipping (skip : bool) (ns : list neuron) (x : list num) : list (list num) :=
  if skip then map (fun a => [a]) x else alone ns.

Definition feed_forward_run (W_in W_out : list neuron) (skip : bool) (x y : list num) : Prop :=
  exists h g, linear_run W_in (alone W_in) x h /\ Forall2 relu h g /\ linear_run W_out (skipping skip W_out x) g y.

(** What a head returns for the row [x], which reads [rows]. *)
Definition head_run (rows : list (list num)) (x : list num) (h : head) (o : list num) : Prop :=
  exists q ks vs s,
    linear_run (query h) (alone (query h)) x q /\
    Forall2 (linear_run (key h) (alone (key h))) rows ks /\
    Forall2 (linear_run (value h) (alone (value h))) rows vs /\
    Forall2 (fun k a => sum_run (combine q k) a) ks s /\
    softmax_run (length (value h)) s vs o.

Definition attention_run (hs : list head) (W_O : list neuron) (skip : bool) (rows : list (list num)) (x y : list num) :=
  exists os, Forall2 (head_run rows x) hs os /\ linear_run W_O (skipping skip W_O x) (concat os) y.

(** Each row that asks, behind the rows that it reads. (A kernel that adds masked rows with the weight 0 adds 0 to sums.) *)
Definition asking {A} (who : attends) (rows : list A) : list (list A * A) :=
  match who with
  | All => map (fun x => (rows, x)) rows
  | Causal => map (fun p => (firstn (S (fst p)) rows, snd p)) (combine (seq 0 (length rows)) rows)
  | Last => map (fun x => (rows, x)) (skipn (length rows - 1) rows)
  end.

Definition block_run (b : block) (rows rows' : list (list num)) : Prop :=
  match b with
  | FeedForward W_in W_out skip => Forall2 (feed_forward_run W_in W_out skip) rows rows'
  | Attention hs W_O skip who =>
      Forall2 (fun a y => attention_run hs W_O skip (fst a) (snd a) y) (asking who rows) rows'
  end.

Fixpoint blocks_run (bs : list block) (rows rows' : list (list num)) : Prop :=
  match bs with
  | [] => rows' = rows
  | b :: bs => exists between, block_run b rows between /\ blocks_run bs between rows'
  end.

(** The row of a token at a position. *)
Definition embed_run (x : list Z * list Z) (y : list num) : Prop :=
  Forall2 (fun ab c => sum_run [given (number (fst ab)); given (number (snd ab))] c) (combine (fst x) (snd x)) y.

End Format.

(** [logits] may be what a run of the model in the format returns behind the last of [tokens]. *)
Definition run (f : format) (exponential : R -> num -> Prop) (m : model) (tokens : list nat) (logits : list num) : Prop :=
  exists rows rows',
    Forall2 (embed_run f (scale m)) (combine (map (fun t => nth t (W_E m) []) tokens) (W_pos m)) rows /\
    blocks_run f exponential (scale m) (blocks m) rows rows' /\
    linear_run f (scale m) (W_U m) (alone (W_U m)) (last rows' []) logits.

(** A largest logit; if there is an infinity or NaN, any token. *)
Definition chosen (logits : list num) (t : nat) : Prop :=
  In None logits \/ exists r, nth_error logits t = Some (Some r) /\ forall a, In (Some a) logits -> a <= r.

(** Greedy decoding: a context of fixed length slides over what has been said; each token is chosen in a run of its own. *)
Inductive says (f : format) (exponential : R -> num -> Prop) (m : model) (keep : nat) : list nat -> list nat -> Prop :=
  | says_nothing : forall context, says f exponential m keep context []
  | says_next : forall context logits t more,
      run f exponential m context logits -> chosen logits t -> says f exponential m keep (slide keep context t) more ->
      says f exponential m keep context (t :: more).

(** *** What is assumed of the exponential *)

(** It is 1 at 0, from 0 to 1 below, and 0 at -far and below: e^-120 < 2^-173, and e^-1000 < 2^-1442, are less than half of
    the least number of float32 and of float64. One that is rounded upwards, and so is never 0, is not usual. (H5 (c) of
    docs/rigour/runs.md asks for a weight of at most 2 tau in place of 0.) *)
Definition usual (far : Z) (exponential : R -> num -> Prop) : Prop :=
  (forall y, exponential 0 y -> y = Some 1) /\
  (forall x y, x <= 0 -> exponential x y -> exists r, y = Some r /\ 0 <= r <= 1) /\
  (forall x y, x <= - IZR far -> exponential x y -> y = Some 0).

Definition defined (exponential : R -> num -> Prop) : Prop := forall x, exists y, exponential x y.

(** The exponential rounded to a nearest number, or 0 below the smallest normal one. *)
Definition correctly_rounded (f : format) (x : R) (y : num) : Prop :=
  Rabs (exp x) < bpow radix2 (safe f) ->
  exists r, y = Some r /\ (Rnd_N_pt (held f) (exp x) r \/ (Rabs (exp x) < bpow radix2 (normal f) /\ r = 0)).

(** *** What is claimed of models *)

(** The format holds every weight, so loading rounds nothing. *)
Definition weights_held (f : format) (m : model) : Prop :=
  Forall (fun z => let x := IZR z * bpow radix2 (- scale m) in held f x /\ Rabs x < bpow radix2 (safe f)) (weights m).

(** Every run answers every context with its label. *)
Definition knows (f : format) (far : Z) (m : model) (facts : list (list nat * nat)) : Prop :=
  forall exponential, usual far exponential -> forall context label, In (context, label) facts ->
  forall logits answer, run f exponential m context logits -> chosen logits answer -> answer = label.

(** Greedy decoding from [context] says [text], in every run of every step. *)
Definition recites (f : format) (far : Z) (m : model) (keep : nat) (context text : list nat) : Prop :=
  forall exponential, usual far exponential -> forall said, says f exponential m keep context said ->
  length said = length text -> said = text.

(** This is about something: the exponential that is correctly rounded is usual, and is defined everywhere. *)
Definition exponentials_exist (f : format) (far : Z) : Prop :=
  usual far (correctly_rounded f) /\ defined (correctly_rounded f).

(** A table: its shapes fit, loading rounds nothing, every run knows every fact, and there are runs. *)
Definition facts_by_heart (f : format) (far : Z) (m : model) (positions outputs : nat) (facts : list (list nat * nat)) : Prop :=
  model_fits m positions outputs = true /\ forallb (fact_fits m positions) facts = true /\ weights_held f m /\
  knows f far m facts /\ exponentials_exist f far /\
  (forall exponential, defined exponential -> forall context label, In (context, label) facts ->
   exists logits, run f exponential m context logits).

(** Texts, each behind its title; a single text stands behind the end token. *)
Definition facts_of_texts (keep positions : nat) (texts : list (nat * list nat)) : list (list nat * nat) :=
  flat_map (fun t => windows keep (repeat (fst t) positions) (snd t)) texts.

(** Texts: what holds of their windows as facts; each ends with the end token, and nowhere before; from its title, as often
    as the context is long, greedy decoding says it in every run; and it says something. *)
Definition texts_by_heart (f : format) (far : Z) (m : model) (positions outputs keep last_token : nat)
    (texts : list (nat * list nat)) : Prop :=
  facts_by_heart f far m positions outputs (facts_of_texts keep positions texts) /\
  forall title text, In (title, text) texts ->
    ends_once last_token text /\ recites f far m keep (repeat title positions) text /\
    (forall exponential, defined exponential -> exists said,
     length said = length text /\ says f exponential m keep (repeat title positions) said).
