// Two quiet sounds: a card is laid, and a trick is taken. The settings turn them off.

import {setting} from "hearts/settings.js";

const TONES = {card: [330, 0.07], trick: [494, 0.18]}; // hertz, seconds
const VOLUME = 0.05;

/** @type {AudioContext|null} */
let audio = null;

/**
 * Plays one of them, once the person has pressed something: browsers allow none before.
 * @param {"card"|"trick"} kind
 */
export function sound(kind) {
  const isAllowed = navigator.userActivation?.hasBeenActive;
  if (setting("sound") !== "on" || document.hidden || !isAllowed) return;
  audio ??= new AudioContext();
  const [frequency, seconds] = TONES[kind];
  const start = audio.currentTime;
  const tone = new OscillatorNode(audio, {frequency, type: "triangle"});
  const volume = new GainNode(audio, {gain: VOLUME});
  volume.gain.exponentialRampToValueAtTime(VOLUME / 100, start + seconds);
  tone.connect(volume).connect(audio.destination);
  tone.start(start);
  tone.stop(start + seconds);
}
