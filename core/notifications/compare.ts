import { createHash } from 'node:crypto';
import { eventNames, type EventName } from '../resources/notification.js';
import type { EpochMs } from '../units/time.js';

/** Something that is wrong now. */
export type Thing = {
  readonly event: EventName;
  /** The same as long as it is the same thing, e.g. `paymasters/shop`. */
  readonly subject: string;
  readonly title: string;
  readonly message: string;
  /** Of how many things it is the sum. Absent: 1. */
  readonly count?: number;
};

export type Situation = {
  readonly things: readonly Thing[];
  /** Events of which nobody can say now what is wrong: of these nothing begins, and nothing is resolved. */
  readonly unknown: ReadonlySet<EventName>;
};

/** One thing, as one receiver knows it: whether it is wrong, and when the receiver was last told that it began. */
type Entry = { readonly isOpen: boolean; readonly at: EpochMs; readonly title: string };
type Entries = Readonly<Record<string, Entry>>;
/** What one receiver was told. */
export type Told = { readonly [E in EventName]?: Entries };

/** All news of one event. */
export type Post = {
  /** The same when it is sent again, and when two processes send it. */
  readonly id: string;
  readonly event: EventName;
  readonly isResolved: boolean;
  readonly things: readonly Omit<Thing, 'event'>[];
  readonly told: Entries;
};

/** Of one event so many things are told one by one; the others are one thing with a count. */
export const maxTracked = 50;
const others = '*';
/** Nobody is told again within this time that the same thing began. */
export const quietMs = 3_600_000;
/** After so many posts within an hour that things of an event began, the next ones wait this long for each other. */
export const maxPosts = 12;
const pauseMs = 600_000;

/**
 * What one receiver has to be told: that things began, and once that they are resolved, in at most two posts for each event.
 * `told` is what it knows without the posts; {@link afterPost} adds one that it has got. What is not added is posted again.
 */
export function compare(
  receiver: string,
  before: Told,
  { things, unknown }: Situation,
  now: EpochMs,
  wanted: readonly EventName[] = eventNames,
): { readonly posts: readonly Post[]; readonly told: Told } {
  const byEvent = Map.groupBy(things, ({ event }) => event);
  const posts: Post[] = [];
  const told: { [E in EventName]?: Entries } = {};
  for (const event of wanted) {
    const entries = clampToNow(before[event], now);
    if (unknown.has(event)) {
      told[event] = entries;
      continue;
    }
    const present = tracked(entries, byEvent.get(event) ?? []);
    const subjects = new Set(present.map(({ subject }) => subject));
    const began = present.filter(({ subject }) => {
      const entry = entries[subject];
      return entry === undefined || (!entry.isOpen && now - entry.at >= quietMs);
    });
    const ended = Object.entries(entries)
      .filter(([subject, { isOpen }]) => isOpen && !subjects.has(subject))
      .map(([subject, { title }]) => ({ subject, title, message: '' }));
    const post = (
      isResolved: boolean,
      of: Post['things'],
      entryOf: (thing: Post['things'][number]) => Entry,
    ): void => {
      if (of.length === 0) return;
      const what = of.map(({ subject }) => [subject, entries[subject]?.at ?? 0]);
      const id = hashJson([receiver, event, isResolved, Math.floor(now / quietMs), what]);
      const marks = Object.fromEntries(of.map((thing) => [thing.subject, entryOf(thing)]));
      posts.push({ id, event, isResolved, things: of, told: marks });
    };
    post(false, isBusy(entries, now) ? [] : began, ({ title }) => ({ isOpen: true, at: now, title }));
    post(true, ended, ({ subject }) => ({ ...entries[subject]!, isOpen: false }));
    told[event] = Object.fromEntries(
      Object.entries(entries).filter(
        ([subject, { isOpen, at }]) => isOpen || subjects.has(subject) || now - at < quietMs,
      ),
    );
  }
  return { posts, told };
}

/** What the receiver knows once it has got the post. */
export function afterPost(told: Told, { event, told: entries }: Post): Told {
  return { ...told, [event]: { ...told[event], ...entries } };
}

/** A clock that was set back must not keep anything quiet for longer. */
function clampToNow(entries: Entries = {}, now: EpochMs): Entries {
  return Object.fromEntries(
    Object.entries(entries).map(([subject, entry]) => [
      subject,
      entry.at > now ? { ...entry, at: now } : entry,
    ]),
  );
}

/** Things of one post began at the same time. */
function isBusy(entries: Entries, now: EpochMs): boolean {
  const all = Object.values(entries).map(({ at }) => at);
  const lately = new Set(all.filter((at) => now - at < quietMs));
  return lately.size >= maxPosts && now - Math.max(...lately) < pauseMs;
}

/** Those that the receiver knows come first, so that things that come and go do not push each other out. */
function tracked(entries: Entries, things: readonly Thing[]): readonly Thing[] {
  const all = [...new Map(things.map((thing) => [thing.subject, thing])).values()];
  const isKnown = ({ subject }: Thing): boolean => Object.hasOwn(entries, subject);
  const fitting = all.filter(isKnown);
  const added = all.filter((thing) => !isKnown(thing)).toSorted((a, b) => (a.subject < b.subject ? -1 : 1));
  const taken = Object.keys(entries).filter((subject) => subject !== others).length;
  const room = Math.max(0, maxTracked - taken);
  const rest = added.slice(room);
  const [first] = rest;
  if (first === undefined) return [...fitting, ...added];
  const title = `${rest.length} more`;
  return [
    ...fitting,
    ...added.slice(0, room),
    { event: first.event, subject: others, title, message: '', count: rest.length },
  ];
}

function hashJson(what: unknown): string {
  return createHash('sha256').update(JSON.stringify(what)).digest('hex').slice(0, 32);
}
