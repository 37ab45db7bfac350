// Numbers for people, and elements.

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹';

export function power(exponent) {
  const digits = [...String(Math.abs(exponent))].map((d) => superscripts[+d]).join('');
  return `10${exponent < 0 ? '⁻' : ''}${digits}`;
}

/// Four significant digits; powers of ten where zeros would hide the number.
export function number(x, digits = 4) {
  if (x === null || x === undefined || Number.isNaN(x)) return '–';
  if (x === 0) return '0';
  if (!Number.isFinite(x)) return x > 0 ? '∞' : '−∞';
  const size = Math.abs(x);
  let text;
  if (size >= 1e6 || size < 1e-3) {
    const [mantissa, exponent] = size.toExponential(Math.max(digits - 2, 0)).split('e');
    text = (+mantissa === 1 ? '' : `${+mantissa}·`) + power(+exponent);
  } else {
    text = size >= 1e4 ? integer(Math.round(size)) : String(+size.toPrecision(digits));
  }
  return (x < 0 ? '−' : '') + text;
}

export function seconds(s) {
  if (s === 0) return '0 s';
  if (s < 1e-3) return `${number(s * 1e6, 3)} µs`;
  if (s < 1) return `${number(s * 1e3, 3)} ms`;
  if (s < 120) return `${number(s, 3)} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
  return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
}

export function integer(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/// el('p.note', {title: 'x', onclick: f}, 'text', child …)
export function el(spec, ...rest) {
  const [tag, ...classes] = spec.split('.');
  const node = document.createElement(tag || 'div');
  if (classes.length) node.className = classes.join(' ');
  for (const item of rest) {
    if (item === null || item === undefined || item === false) continue;
    if (item instanceof Node || typeof item !== 'object') node.append(item);
    else if (Array.isArray(item)) node.append(...item);
    else {
      for (const [key, value] of Object.entries(item)) {
        if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
        else if (value !== undefined && value !== false) node.setAttribute(key, value === true ? '' : value);
      }
    }
  }
  return node;
}

/// Small line icons, 24 × 24.
export function icon(name) {
  const paths = {
    play: 'M7 4.5v15l12.5-7.5z', pause: 'M7 5h3.5v14H7zM13.5 5H17v14h-3.5z',
    fit: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5', camera: 'M4 7h3l2-2.5h6L17 7h3v12H4zM12 16.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z',
    theme: 'M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z', close: 'M6 6l12 12M18 6L6 18',
    start: 'M6 5v14M19 5.5v13L9 12z', back: 'M15 5.5v13L7.5 12z', next: 'M9 5.5v13l7.5-6.5z',
    sliders: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 4.5v5M9 14.5v5',
  };
  const filled = ['play', 'pause', 'back', 'next', 'start'].includes(name);
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('class', `icon ${filled ? 'filled' : ''}`);
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', paths[name]);
  svg.append(path);
  return svg;
}
