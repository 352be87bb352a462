const pad = (value: number) => String(value).padStart(2, '0');

/** In the reader's time zone: a day, or a time of day, where midnight is the day that begins. */
export function tickLabel(isOfDays: boolean) {
  return (seconds: number): string => {
    const at = new Date(seconds * 1000);
    const time = `${pad(at.getHours())}:${pad(at.getMinutes())}`;
    return isOfDays || time === '00:00' ? `${pad(at.getMonth() + 1)}-${pad(at.getDate())}` : time;
  };
}

const leastMonthPixels = 64;

/** Of months, which begin in UTC; where they have little room, only of some. */
export function monthLabel(pixels: number) {
  const each = Math.max(1, Math.ceil(leastMonthPixels / pixels));
  return (seconds: number, index: number): string =>
    index % each === 0 ? new Date(seconds * 1000).toISOString().slice(0, 7) : '';
}

/** No label twice: of ticks that would say the same the first does. */
export function labelled(ticks: readonly number[], label: (tick: number) => string): string[] {
  const labels = ticks.map(label);
  return labels.map((text, index) => (labels.indexOf(text) === index ? text : ''));
}
