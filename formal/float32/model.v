(** A stored model, in integers: what its file says, and whether its shapes fit. No real number is in this file. *)

From Coq Require Import String Ascii List ZArith Bool.
Import ListNotations.

(** A column of a matrix, and its shift or nothing. Every weight [z] stands for z 2^-scale. *)
Record neuron := Neuron { reads : list Z; shift : list Z }.
Record head := Head { query : list neuron; key : list neuron; value : list neuron }.

(** Which rows ask, and which they read: all read all; each reads itself and those before; the last reads all. *)
Inductive attends := All | Causal | Last.

Inductive block :=
  | FeedForward (W_in W_out : list neuron) (skip : bool)
  | Attention (heads : list head) (W_O : list neuron) (skip : bool) (who : attends).

Record model := Model {
  scale : Z; W_E : list (list Z); W_pos : list (list Z); blocks : list block; W_U : list neuron }.

(** *** Shapes: no list is cut off where two of them meet *)

(** Each neuron reads [width] numbers and has at most one shift. *)
Definition fitting (width : nat) (ns : list neuron) : bool :=
  forallb (fun n => (length (reads n) =? width) && (length (shift n) <=? 1))%nat ns.

Definition head_fits (width : nat) (h : head) : bool :=
  fitting width (query h) && fitting width (key h) && fitting width (value h) && (length (query h) =? length (key h))%nat.

(** Whether a block reads rows of this width; and the width of its own rows. *)
Definition block_fits (width : nat) (b : block) : bool * nat :=
  match b with
  | FeedForward W_in W_out skip =>
      (fitting width W_in && fitting (length W_in) W_out && (negb skip || (length W_out =? width)%nat), length W_out)
  | Attention hs W_O skip _ =>
      (forallb (head_fits width) hs && fitting (list_sum (map (fun h => length (value h)) hs)) W_O &&
       (negb skip || (length W_O =? width)%nat), length W_O)
  end.

Fixpoint blocks_fit (width : nat) (bs : list block) : bool * nat :=
  match bs with
  | [] => (true, width)
  | b :: bs => let (good, w) := block_fits width b in let (others, last) := blocks_fit w bs in (good && others, last)
  end.

(** The model reads contexts of so many tokens, and has so many logits. *)
Definition model_fits (m : model) (positions outputs : nat) : bool :=
  let width := length (hd [] (W_E m)) in
  let (good, last) := blocks_fit width (blocks m) in
  forallb (fun row => length row =? width)%nat (W_E m ++ W_pos m) && (1 <=? positions)%nat &&
  (positions <=? length (W_pos m))%nat && good && fitting last (W_U m) && (length (W_U m) =? outputs)%nat.

(** A context has one token for each position, each of them one of the model's; and its label is one of the logits. *)
Definition fact_fits (m : model) (positions : nat) (fact : list nat * nat) : bool :=
  ((length (fst fact) =? positions) && forallb (fun t => t <? length (W_E m)) (fst fact) && (snd fact <? length (W_U m)))%nat.

(** *** All weights *)

Definition entries (ns : list neuron) : list Z := flat_map (fun n => reads n ++ shift n) ns.
Definition block_entries (b : block) : list Z :=
  match b with
  | FeedForward W_in W_out _ => entries W_in ++ entries W_out
  | Attention hs W_O _ _ => flat_map (fun h => entries (query h) ++ entries (key h) ++ entries (value h)) hs ++ entries W_O
  end.
Definition weights (m : model) : list Z :=
  concat (W_E m) ++ concat (W_pos m) ++ flat_map block_entries (blocks m) ++ entries (W_U m).

(** *** Texts *)

(** What tokens say, by the texts of the vocabulary; the end token says nothing. *)
Definition spoken (vocabulary : list string) (text : list nat) : string :=
  String.concat "" (map (fun t => nth t vocabulary ""%string) text).

(** A string of bytes. *)
Definition bytes (codes : list nat) : string := fold_right (fun code s => String (ascii_of_nat code) s) ""%string codes.

(** How a context of fixed length moves on: the first [keep] tokens (a title) stay, the next one goes. *)
Definition slide (keep : nat) (context : list nat) (t : nat) : list nat :=
  firstn keep context ++ skipn (S keep) context ++ [t].

(** The facts of a text: each window, and what follows it. *)
Fixpoint windows (keep : nat) (context text : list nat) : list (list nat * nat) :=
  match text with [] => [] | t :: more => (context, t) :: windows keep (slide keep context t) more end.

(** The text ends with the end token, which is nowhere else in it. *)
Definition ends_once (last_token : nat) (text : list nat) : Prop :=
  exists words, text = words ++ [last_token] /\ ~ In last_token words.
