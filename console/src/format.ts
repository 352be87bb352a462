const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export function count(value: number): string {
  return whole.format(value);
}

/** A decimal text with at most six digits after its leading zeros; the exact one belongs into a `title`. */
export function coins(text: string): string {
  const [integer = '0', fraction = ''] = text.split('.');
  const leadingZeros = integer === '0' || integer === '-0' ? (/^0*/.exec(fraction)?.[0].length ?? 0) : 0;
  const shown = fraction.slice(0, leadingZeros + 6).replace(/0+$/, '');
  return shown === '' ? grouped(integer) : `${grouped(integer)}.${shown}`;
}

function grouped(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A whole number of the smallest unit as decimal text, exactly. */
export function decimal(amount: bigint, decimals: number): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  const whole = digits.slice(0, digits.length - decimals);
  return `${amount < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

const cents = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** For eyes; a `title` has all digits. */
export function dollars(text: string): string {
  const value = Number(text);
  return value !== 0 && Math.abs(value) < 0.01 ? 'less than 0.01' : cents.format(value);
}

/** A sentence of the API, with its amounts written as elsewhere: `at most 100,000 operations`, `0.5 coins` for ether. */
export function amounts(sentence: string): string {
  return sentence
    .replace(/(?<![\d.])\d{4,}(?=(\.\d+)? (operations|ether|dollars))/g, grouped)
    .replace(/(?<![\d.])1 ether/g, '1 coin')
    .replace(/(?<=\d )ether/g, 'coins');
}

/** A number as elsewhere, with all its digits; another text as it is. */
export function exact(text: string): string {
  return text.replace(/^\d{4,}(?=(\.\d+)?$)/, grouped);
}

export function hours(value: number | null): string {
  if (value === null) return 'nothing spent lately';
  if (value < 48) return `${whole.format(value)} h`;
  return value < 24 * 365 ? `${whole.format(value / 24)} days` : 'more than a year';
}

const moment = new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'medium' });

/** In the reader's time zone, which the foot of each page names. */
export function time(instant: string): string {
  return moment.format(new Date(instant));
}

/** As a field for a time writes it, in the reader's time zone. Empty for a value that is not a time: a link may hold anything. */
export function fieldTime(instant = ''): string {
  return Number.isNaN(Date.parse(instant)) ? '' : time(instant).slice(0, 16).replace(' ', 'T');
}

export const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** `0x1234…abcd`; the whole one belongs into a `title`. */
export function short(hex: string): string {
  return hex.length > 14 ? `${hex.slice(0, 6)}…${hex.slice(-4)}` : hex;
}

/** `METHOD_NOT_WHITELISTED` as words. */
export function words(constant: string): string {
  const text = constant.replaceAll('_', ' ').toLowerCase();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `limitsAndDeposit` as words. */
export function memberName(name: string): string {
  return words(name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`));
}
