// The drawing of chapter 1 moves: the reader chooses four scores, of tokens and of positions, and the segments still cross.
// Without this script the still drawing is there, and it shows the same.
(() => {
  // What the head writes for token n at position s, as in docs/figures/exclusive_or.py.
  const VALUE = { "1,0": [1, 9], "1,1": [10, 9], "2,0": [2, 0], "2,1": [11, 0], "3,0": [10, 5] };
  // The exponentials of the scores in the still drawing; position 3 has the score 0.
  const START = { "token 0": 1, "token 1": 4, "position 1": 3, "position 2": 3 };
  const CONTEXTS = { first: [[0, 0], [1, 1]], second: [[0, 1], [1, 0]] }; // by label: 0, then 1
  const SVG = "http://www.w3.org/2000/svg";

  // The exponential of a score is that of the token times that of the position.
  function products(parts) {
    const found = {};
    for (const place of Object.keys(VALUE)) {
      const [position, token] = place.split(",");
      found[place] = parts[`token ${token}`] * (parts[`position ${position}`] ?? 1);
    }
    return found;
  }

  const places = ([a, b]) => [`1,${a}`, `2,${b}`, "3,0"];
  const denominator = (scores, context) => places(context).reduce((sum, place) => sum + scores[place], 0);
  const written = (scores, context) =>
    [0, 1].map(axis => places(context).reduce((sum, place) => sum + scores[place] * VALUE[place][axis], 0) / denominator(scores, context));
  const onPaper = ([x, y]) => [375 + (240 * x) / 11, 220 - (150 * y) / 9];

  // The common point: the average of a pair with the denominators as weights. Both pairs give the same.
  function crossing(scores, pair) {
    const weights = pair.map(context => denominator(scores, context));
    const points = pair.map(context => written(scores, context));
    return [0, 1].map(axis => (weights[0] * points[0][axis] + weights[1] * points[1][axis]) / (weights[0] + weights[1]));
  }

  function element(name, attributes, text = "") {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  }

  function dot(point, kind, radius) {
    const [x, y] = onPaper(point);
    return element("circle", { cx: x.toFixed(2), cy: y.toFixed(2), r: radius, class: kind });
  }

  function label(point, text) {
    const [x, y] = onPaper(point);
    return element("text", { x: x.toFixed(2), y: (y + (y > 145 ? 26 : -16)).toFixed(2), "text-anchor": "middle", "font-size": 14 }, text);
  }

  function redraw(group, sums, scores) {
    const drawn = [];
    for (const [kind, pair] of Object.entries(CONTEXTS)) {
      const [from, to] = pair.map(context => onPaper(written(scores, context)));
      drawn.push(element("line", { x1: from[0].toFixed(2), y1: from[1].toFixed(2), x2: to[0].toFixed(2), y2: to[1].toFixed(2), class: kind }));
      for (const context of pair) {
        const point = written(scores, context);
        drawn.push(dot(point, `on-${kind}`, 7), label(point, `${context.join(" ")} 0 → ${kind === "first" ? 0 : 1}`));
      }
    }
    const common = crossing(scores, CONTEXTS.first);
    const [x, y] = onPaper(common);
    drawn.push(dot(common, "ink", 9), element("text", { x: x - 14, y: y + 22, "text-anchor": "end", "font-size": 14 }, "a point of both"));
    group.replaceChildren(...drawn);
    const [even, odd] = Object.values(CONTEXTS).map(pair => pair.map(context => denominator(scores, context).toFixed(2)));
    sums.textContent = `The denominators: ${even.join(" + ")} = ${odd.join(" + ")}. The segments cross.`;
  }

  function start() {
    const figure = document.querySelector('div.figure[data-drawing="exclusive_or"]');
    if (!figure) return;
    const svg = figure.querySelector("svg");
    const x = one => Number(one.getAttribute("x") ?? one.getAttribute("cx") ?? one.getAttribute("x1"));
    for (const one of [...svg.querySelectorAll("text, circle, line")])
      if (x(one) > 300 && !one.classList.contains("faint")) one.remove();
    const group = svg.appendChild(element("g", {}));

    const parts = { ...START };
    const controls = document.createElement("div");
    const sums = document.createElement("p");
    controls.className = "controls";
    sums.setAttribute("aria-live", "polite");
    for (const part of Object.keys(START)) {
      const row = document.createElement("label");
      const slider = document.createElement("input");
      Object.assign(slider, { type: "range", min: -4, max: 4, step: "any", value: Math.log(START[part]) });
      slider.addEventListener("input", () => {
        parts[part] = Math.exp(Number(slider.value));
        redraw(group, sums, products(parts));
      });
      row.append(`score of ${part} `, slider);
      controls.append(row);
    }
    figure.append(controls, sums);
    redraw(group, sums, products(parts));
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
