import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import {
  afterPost,
  compare,
  maxPosts,
  maxTracked,
  quietMs,
  type Post,
  type Thing,
  type Told,
} from '../../../core/notifications/compare.js';
import type { EventName } from '../../../core/resources/notification.js';
import type { EpochMs } from '../../../core/units/time.js';
import { runs } from '../../support/property.js';

const minuteMs = 60_000;
const at = (minutes: number): EpochMs => (1_800_000_000_000 + minutes * minuteMs) as EpochMs;
const low = (subject: string): Thing => ({
  event: 'deposit.low',
  subject,
  title: subject,
  message: 'top it up',
});
const situation = (things: readonly Thing[], unknown: readonly EventName[] = []) => ({
  things,
  unknown: new Set(unknown),
});
const look = (told: Told, subjects: readonly string[], minutes: number) =>
  compare('r', told, situation(subjects.map(low)), at(minutes));
const withAll = (told: Told, posts: readonly Post[]): Told => posts.reduce(afterPost, told);
const titles = (post: Post | undefined) => post?.things.map(({ title }) => title);

describe('what a receiver is told', () => {
  test('is that a thing began, once, and once that it is resolved', () => {
    const first = look({}, ['shop'], 0);
    expect(first.posts).toMatchObject([{ event: 'deposit.low', isResolved: false }]);
    const told = withAll(first.told, first.posts);
    expect(look(told, ['shop'], 500).posts).toEqual([]);
    const last = look(told, [], 501);
    expect(last.posts).toMatchObject([{ isResolved: true, things: [{ subject: 'shop', title: 'shop' }] }]);
    expect(look(withAll(last.told, last.posts), [], 502).posts).toEqual([]);
  });

  test('is told again with the same id until it has got it', () => {
    const [first] = look({}, ['shop'], 0).posts;
    const [again] = look({}, ['shop'], 1).posts;
    expect(again?.id).toBe(first?.id);
    expect(compare('another', {}, situation([low('shop')]), at(0)).posts[0]?.id).not.toBe(first?.id);
  });

  test('has another id when the same thing begins again later', () => {
    const first = look({}, ['shop'], 0);
    const ended = look(withAll(first.told, first.posts), [], 1);
    const second = look(withAll(ended.told, ended.posts), ['shop'], 70);
    expect(second.posts).toMatchObject([{ isResolved: false }]);
    expect(second.posts[0]?.id).not.toBe(first.posts[0]?.id);
  });

  test('is not that something is resolved of which nobody knows anything now', () => {
    const first = look({}, ['shop'], 0);
    const told = withAll(first.told, first.posts);
    expect(compare('r', told, situation([], ['deposit.low']), at(1))).toEqual({ posts: [], told });
  });

  test('is nothing of events that it does not want', () => {
    expect(compare('r', {}, situation([low('shop')]), at(0), ['price.jumped']).posts).toEqual([]);
  });

  test('is one post about thousands of things, and what is kept of it is bounded', () => {
    const all = Array.from({ length: 10_000 }, (_, i) => `policies/${i}`);
    const { posts, told } = look({}, all, 0);
    expect(posts).toHaveLength(1);
    expect(posts[0]?.things).toHaveLength(maxTracked + 1);
    expect(posts[0]?.things.at(-1)).toMatchObject({ count: 10_000 - maxTracked });
    expect(Object.keys(withAll(told, posts)['deposit.low'] ?? {})).toHaveLength(maxTracked + 1);
  });

  test('comes at most twice an hour for each of thousands of things that come and go', () => {
    let told: Told = {};
    const posts: Post[] = [];
    for (let minute = 0; minute < 60; minute++) {
      const all = Array.from({ length: 10_000 }, (_, i) => `policies/${i}`);
      const now = look(told, minute % 2 === 0 ? all : [], minute);
      told = withAll(now.told, now.posts);
      posts.push(...now.posts);
    }
    // That they began, that they are resolved, and then an hour of silence.
    expect(posts).toHaveLength(2);
  });

  test('comes every ten minutes once much has begun within an hour, and leaves nothing out', () => {
    let told: Told = {};
    const seen: number[] = [];
    const subjects: string[] = [];
    for (let minute = 0; minute < 60; minute++) {
      if (minute < 40) subjects.push(`policies/${minute}`);
      const now = look(told, subjects, minute);
      told = withAll(now.told, now.posts);
      if (now.posts.length > 0) seen.push(minute);
    }
    const first = Array.from({ length: maxPosts }, (_, i) => i);
    expect(seen).toEqual([...first, 21, 31, 41]);
    expect(Object.keys(told['deposit.low'] ?? {})).toHaveLength(subjects.length);
  });

  test('is not held back longer than an hour by a clock that was set back by days', () => {
    const first = look({}, ['shop'], 10_000);
    const ended = look(withAll(first.told, first.posts), [], 10_001);
    let told = withAll(ended.told, ended.posts);
    const seen: number[] = [];
    for (let minute = 0; minute <= 61; minute++) {
      const now = look(told, ['shop'], minute);
      if (now.posts.length > 0) seen.push(minute);
      told = withAll(now.told, now.posts);
    }
    expect(seen).toEqual([60]);
  });
});

test('whatever begins, ends, fails, and however the clock steps: a receiver is told at least once, seldom, and at last knows all', () => {
  const round = fc.record({
    present: fc.subarray(['a', 'b', 'c', 'd']),
    isUnknown: fc.boolean(),
    isDelivered: fc.boolean(),
    stepMinutes: fc.oneof(fc.constant(1), fc.integer({ min: -200, max: 200 })),
  });
  fc.assert(
    fc.property(fc.array(round, { maxLength: 60 }), (rounds) => {
      let told: Told = {};
      let minutes = 0;
      /** What the receiver believes, by what it has got; and when it was last told that a thing began. */
      const believed = new Map<string, boolean>();
      const began = new Map<string, number>();
      const take = (present: readonly string[], isUnknown: boolean, isDelivered: boolean): void => {
        const unknown: readonly EventName[] = isUnknown ? ['deposit.low'] : [];
        const now = compare('r', told, situation(present.map(low), unknown), at(minutes));
        expect(now.posts.length).toBeLessThanOrEqual(2);
        if (isUnknown) expect(now.posts).toEqual([]);
        told = now.told;
        if (!isDelivered) return;
        for (const post of now.posts) {
          told = afterPost(told, post);
          for (const title of titles(post) ?? []) {
            // They alternate.
            expect(believed.get(title) ?? false).toBe(post.isResolved);
            believed.set(title, !post.isResolved);
            if (post.isResolved) expect(present).not.toContain(title);
            else {
              expect(present).toContain(title);
              const sinceLast = minutes - (began.get(title) ?? -Infinity);
              expect(sinceLast).toBeGreaterThanOrEqual(quietMs / minuteMs);
              began.set(title, minutes);
            }
          }
        }
      };
      for (const { present, isUnknown, isDelivered, stepMinutes } of rounds) {
        minutes += stepMinutes;
        // Times from before a step back say nothing.
        if (stepMinutes < 0) began.clear();
        take(present, isUnknown, isDelivered);
      }
      for (const present of [['a', 'b'], []]) {
        for (let more = 0; more <= 61; more++) {
          minutes += 1;
          take(present, false, true);
        }
        for (const each of ['a', 'b', 'c', 'd'])
          expect(believed.get(each) ?? false).toBe(present.includes(each));
      }
      expect(told['deposit.low']).toEqual({});
    }),
    runs(300, 20_000),
  );
});
