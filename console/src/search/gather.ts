import type { Answers } from '../answers.js';
import { call, can, Refused } from '../api.js';
import { short, time, words } from '../format.js';
import { pages } from '../pages.js';
import { findRuleKind } from '../paymaster/kinds.js';
import { listAllPages } from '../paymasters.js';
import type { Decision } from '../records.js';
import { callName } from '../refusal/sentences.js';
import { pageHref } from '../route.js';

/** Everything with a name that the token may read. What it may not read is not asked for. */
export async function gather(): Promise<readonly Entry[]> {
  const mayRead = can('read');
  const [paymasters, contracts, policies] = await Promise.all([
    listAllPages('paymasters'),
    mayRead ? listAllPages('contracts') : [],
    mayRead ? listAllPages('policies') : [],
  ]);
  const names = new Map(paymasters.map(({ name, spec }) => [name, spec.name]));
  const displayName = (object: string): string => names.get(object) ?? object;
  return [
    ...paymasters.map(({ name, id, spec }) =>
      entry('Paymaster', spec.name, `chain ${spec.chainId}`, paymasterHref(name, id), `${name} ${id}`),
    ),
    ...contracts.map(({ name, spec }) => {
      const { name: object } = spec.paymasterRef;
      const href = pageHref('paymaster', { tab: 'contracts', change: changed(name) }, object);
      return entry('Contract', spec.name, displayName(object), href, `${name} ${spec.address}`);
    }),
    ...policies.map(({ name, id, spec }) => {
      const { name: object } = spec.paymasterRef;
      const href = pageHref('paymaster', { change: changed(name) }, object);
      const detail = `${findRuleKind(spec.policyType).title}, ${displayName(object)}`;
      return entry('Policy', spec.name, detail, href, `${name} ${id}`);
    }),
  ];
}

export function pageEntries(): readonly Entry[] {
  return Object.entries(pages).flatMap(([path, { title, needs }]) =>
    can(...needs) ? [entry('Page', title, '', pageHref(path))] : [],
  );
}

/** Opens the form of an entry, for a token that may change it. */
function changed(name: string): string | undefined {
  return can() ? name : undefined;
}

function paymasterHref(object: string, paymasterId: string): string {
  if (can('read')) return pageHref('paymaster', {}, object);
  return can('stop') ? pageHref('paymaster') : pageHref('usage', { paymasterId });
}

const isAddress = (text: string): boolean => /^0x[0-9a-f]{40}$/i.test(text);
const isHash = (text: string): boolean => /^0x[0-9a-f]{64}$/i.test(text);
const isId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

/** Whether {@link operationsBy} asks the server. */
export function namesOperation(text: string): boolean {
  return can('read') && (isHash(text) || isId(text));
}

const lookedBackMs = 30 * 86_400_000;

/** Decisions about the operation of this hash in the last 30 days, or the one of this id. */
export async function operationsBy(text: string): Promise<readonly Entry[]> {
  if (isHash(text)) {
    const from = new Date(Date.now() - lookedBackMs).toISOString();
    const query = new URLSearchParams({ userOpHash: text, from, limit: '6' });
    const { items } = await call<Answers['listDecisions']>(`/manage/v1/decisions?${query}`);
    return items.map((one) => operation(one, text));
  }
  try {
    return [operation(await call<Decision>(`/manage/v1/decisions/${text.toLowerCase()}`), text)];
  } catch (error) {
    // Other objects have such ids, too.
    if (error instanceof Refused && error.status === 404) return [];
    throw error;
  }
}

function operation({ id, at, verdict, reason, sender, calls }: Decision, text: string): Entry {
  const outcome = words(reason ?? verdict);
  const what = calls.map(callName).join(', ') || 'no call';
  return entry(
    'Operation',
    `${outcome}: ${what}`,
    `${short(sender)}, ${time(at)}`,
    pageHref('activity', {}, id),
    text,
  );
}

/** Searches of Activity by this text. */
export function inActivity(text: string): readonly Entry[] {
  if (!can('read') || text === '') return [];
  const href = pageHref('activity', { range: '30d', search: text });
  if (isAddress(text)) return [entry('Account', text, 'its operations in 30 days', href)];
  // The form of a request id that the API accepts.
  return /^[\x21-\x7e]{4,128}$/.test(text) && !isHash(text) && !isId(text)
    ? [entry('Request', text, 'request id, in 30 days', href)]
    : [];
}

/** Something that can be found, in the order in which kinds are shown. */
export const kinds = ['Page', 'Paymaster', 'Contract', 'Policy', 'Operation', 'Account', 'Request'] as const;

export type Entry = {
  readonly kind: (typeof kinds)[number];
  readonly name: string;
  /** What it belongs to, e.g. its paymaster. */
  readonly detail: string;
  readonly href: string;
  /** What is searched, in small letters. */
  readonly text: string;
};

export type Found = {
  readonly shown: readonly Entry[];
  /** All matches, also those that are not shown. */
  readonly count: number;
};

/** Most entries of one kind: more typing narrows them down. */
const maxOfKind = 6;
const maxWords = 5;

function entry(kind: Entry['kind'], name: string, detail: string, href: string, others = ''): Entry {
  return { kind, name, detail, href, text: `${name} ${detail} ${others}`.toLowerCase() };
}

/** Entries that contain every word; names that begin with the text come first. Each entry is looked at once: work is linear. */
export function matching(entries: readonly Entry[], query: string): Found {
  const asked = query.trim().toLowerCase();
  const words = asked.split(/\s+/).slice(0, maxWords);
  const fits = entries.filter(({ text }) => words.every((word) => text.includes(word)));
  const isFirst = ({ name }: Entry): boolean => name.toLowerCase().startsWith(asked);
  const ordered = [...fits.filter(isFirst), ...fits.filter((each) => !isFirst(each))];
  const shown = kinds.flatMap((kind) => ordered.filter((each) => each.kind === kind).slice(0, maxOfKind));
  return { shown, count: fits.length };
}
