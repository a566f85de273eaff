// Looks at the page it stands in and tells every fault on the console: text over text, text or
// lines that are hard to see, boxes that scroll and cannot be reached by keyboard, and a page that
// is wider than its window. A fault is told once for each kind and class of element.
{
  const TEXT_CONTRAST = 4.5, LARGE_CONTRAST = 3, LINE_CONTRAST = 3;
  // Pixels by which the boxes of two texts may overlap: they have room around the letters.
  const SLACK = 1.5;
  const told = new Set();
  const tell = (kind, element, more) => {
    const name = `${kind}: ${element.tagName} .${element.getAttribute("class") || ""}`;
    if (!told.has(name)) console.log(`${innerWidth} px, ${name} ${more}`);
    told.add(name);
  };

  const colour = (text) => {
    const parts = text.match(/[\d.]+/g).map(Number);
    return parts.length > 3 ? parts : [...parts, 1];
  };
  const over = ([r, g, b, a], under) =>
    [r, g, b].map((part, at) => part * a + under[at] * (1 - a)).concat(1);
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const ground = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      // A drawing may bring its own ground.
      const sheet = at.tagName === "svg" && at.querySelector(":scope > .ground");
      const style = getComputedStyle(sheet || at);
      layers.push(colour(sheet ? style.fill : style.backgroundColor));
    }
    return layers.reduceRight((under, layer) => over(layer, under), [255, 255, 255, 1]);
  };
  const opacity = (element) => {
    let share = 1;
    for (let at = element; at; at = at.parentElement) share *= getComputedStyle(at).opacity;
    return share;
  };

  // The part of a box that its scrolling ancestors show.
  const shown = (element, box) => {
    let { left, right, top, bottom } = box;
    for (let at = element; at && at !== document.body; at = at.parentElement) {
      if (getComputedStyle(at).overflowX === "visible") continue;
      const frame = at.getBoundingClientRect();
      [left, right] = [Math.max(left, frame.left), Math.min(right, frame.right)];
      [top, bottom] = [Math.max(top, frame.top), Math.min(bottom, frame.bottom)];
    }
    return { left, right, top, bottom };
  };

  const texts = () => {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode, element = node.parentElement;
      if (!node.data.trim() || element.closest("script, style, title, desc")) continue;
      if (!element.checkVisibility()) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const whole of range.getClientRects()) {
        const box = shown(element, whole);
        if (box.right - box.left > SLACK && box.bottom - box.top > SLACK) {
          found.push({ box, element, text: node.data.trim() });
        }
      }
    }
    return found;
  };

  const overlaps = (all) => {
    all.sort((one, other) => one.box.top - other.box.top);
    all.forEach((one, at) => {
      for (let next = at + 1; next < all.length; next += 1) {
        const { box, element, text } = all[next];
        if (box.top > one.box.bottom - SLACK) break;
        const wide = Math.min(box.right, one.box.right) - Math.max(box.left, one.box.left);
        if (wide > SLACK && element !== one.element) {
          tell("overlap", element, `"${text}" and "${one.text}"`);
        }
      }
    });
  };

  const faint = (all) => {
    for (const { element, text } of all) {
      const style = getComputedStyle(element);
      const paint = element.closest("svg") ? style.fill : style.color;
      const under = ground(element), [r, g, b, a] = colour(paint);
      const ratio = contrast(over([r, g, b, a * opacity(element)], under), under);
      const size = parseFloat(style.fontSize);
      const is_large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
      if (ratio < (is_large ? LARGE_CONTRAST : TEXT_CONTRAST)) {
        tell("faint text", element, `"${text}", ${ratio.toFixed(2)}`);
      }
    }
    for (const element of document.querySelectorAll("svg .curve, svg .bar, svg .rest, svg .dots, svg .ring, svg .frame, svg .mark")) {
      const style = getComputedStyle(element);
      const paint = style.stroke === "none" || element.matches(".mark") ? style.fill : style.stroke;
      const under = ground(element), [r, g, b, a] = colour(paint);
      const ratio = contrast(over([r, g, b, a * opacity(element)], under), under);
      if (ratio < LINE_CONTRAST) tell("faint line", element, ratio.toFixed(2));
    }
  };

  const unreachable = () => {
    for (const element of document.querySelectorAll("body *")) {
      const style = getComputedStyle(element);
      const scrolls = ["auto", "scroll"].includes(style.overflowX)
        && (element.scrollWidth > element.clientWidth + 1
          || element.scrollHeight > element.clientHeight + 1);
      if (scrolls && element.tabIndex < 0) tell("no keyboard", element, "it scrolls");
      if (scrolls && !element.getAttribute("aria-label")) tell("no name", element, "it scrolls");
    }
  };

  addEventListener("load", () => {
    const all = texts();
    overlaps(all);
    faint(all);
    unreachable();
    const wide = document.documentElement.scrollWidth;
    if (wide > innerWidth + 1) {
      const past = (box) => box.right > innerWidth + 1;
      const culprit = all.find(({ box }) => past(box));
      console.log(`${innerWidth} px: the page is ${wide} px wide, by "${culprit?.text}"`);
    }
  });
}
