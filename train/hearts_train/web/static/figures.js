// Figures and names as the board writes them.

/** A signed figure with a real minus. @param {number} value @param {number} [digits] */
export function signed(value, digits = 0) {
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return text;
  return (value > 0 ? "+" : "−") + text;
}

/** "1 point", "5 points". @param {number} n @param {string} noun @param {string} [plural] */
export function counted(n, noun, plural = `${noun}s`) {
  return `${n} ${Math.abs(n) === 1 ? noun : plural}`.replace("-", "−");
}

/** A verb after a name: "loses", but "lose" after "You". @param {string} name @param {string} verb */
export function does(name, verb) {
  const plural = verb === "has" ? "have" : verb.replace(/s$/, "");
  return `${name} ${name === "You" ? plural : verb}`;
}

/** With a capital letter at its beginning. @param {string} text */
export function capital(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
