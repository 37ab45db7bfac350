// Colour scales, and the colours of the theme.
import * as THREE from 'three';

const stops = [[0.19, 0.07, 0.45], [0.16, 0.36, 0.72], [0.10, 0.60, 0.66], [0.36, 0.78, 0.40], [0.93, 0.86, 0.20]];

/// From dark violet to yellow, for 0 to 1.
export function scaleColour(x, out = new THREE.Color()) {
  const at = Math.min(Math.max(x, 0), 1) * (stops.length - 1);
  const k = Math.min(Math.floor(at), stops.length - 2);
  const [a, b] = [stops[k], stops[k + 1]];
  const mix = (i) => a[i] + (at - k) * (b[i] - a[i]);
  return out.setRGB(mix(0), mix(1), mix(2), THREE.SRGBColorSpace);
}

export const scaleGradient = `linear-gradient(to right, ${stops.map((c) => `rgb(${c.map((x) => Math.round(255 * x)).join(' ')})`).join(', ')})`;

export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export const isDark = () => document.documentElement.dataset.theme === 'dark';

export function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
}
