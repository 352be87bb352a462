/** Something that can be found, in the order in which kinds are shown. */
export const kinds = ['Page', 'Paymaster', 'Contract', 'Policy', 'Operation', 'Account', 'Request'] as const;

export type Entry = {
  readonly kind: (typeof kinds)[number];
  readonly name: string;
  /** Where it belongs. */
  readonly detail: string;
  readonly href: string;
  /** What is searched, in small letters. */
  readonly text: string;
};

export type Found = {
  readonly shown: readonly Entry[];
  /** How many fit, also those that are not shown. */
  readonly count: number;
};

/** Of one kind: who sees more goes on typing. */
const mostOfKind = 6;
const mostWords = 5;

export function entry(kind: Entry['kind'], name: string, detail: string, href: string, others = ''): Entry {
  return { kind, name, detail, href, text: `${name} ${detail} ${others}`.toLowerCase() };
}

/** Those that contain every word, a name that begins as the text first. Each entry is looked at once: work is linear, also for 10,000 of them. */
export function matching(entries: readonly Entry[], query: string): Found {
  const asked = query.trim().toLowerCase();
  const words = asked.split(/\s+/).slice(0, mostWords);
  const fits = entries.filter(({ text }) => words.every((word) => text.includes(word)));
  const isFirst = ({ name }: Entry): boolean => name.toLowerCase().startsWith(asked);
  const ordered = [...fits.filter(isFirst), ...fits.filter((each) => !isFirst(each))];
  const shown = kinds.flatMap((kind) => ordered.filter((each) => each.kind === kind).slice(0, mostOfKind));
  return { shown, count: fits.length };
}
