import { expect, test } from '@jest/globals';
import { createBodyAdmission } from '../../../server/http/body-admission.js';

const overhead = 256;
const limits = { totalBytes: 100_000, bodyBytes: 50_000, withinMs: 1_000 };
const share = 10_000;

test('one key has at most a tenth, whatever its clients; another key is admitted meanwhile', () => {
  const { admit } = createBodyAdmission(limits);
  expect(admit('a', 'x').take(share - overhead)).toBe(true);
  expect(admit('a', 'y').take(1)).toBe(false);
  expect(admit('b', 'y').take(share - overhead)).toBe(true);
});

test('one client has at most a tenth, whatever its keys', () => {
  const { admit } = createBodyAdmission(limits);
  expect(admit('a', 'x').take(share - overhead)).toBe(true);
  expect(admit('b', 'x').take(1)).toBe(false);
});

test('all together have at most the whole', () => {
  const bodies = createBodyAdmission(limits);
  const admitted = Array.from({ length: 20 }, (_, n) =>
    bodies.admit(`k${n}`, `c${n}`).take(share - overhead),
  );
  expect(admitted.filter(Boolean)).toHaveLength(10);
  expect(bodies.heldBytes).toBe(limits.totalBytes);
});

test('chunks of one byte count with their real memory cost', () => {
  const body = createBodyAdmission(limits).admit('a', 'x');
  const taken = Array.from({ length: 100 }, () => body.take(1));
  expect(taken.filter(Boolean)).toHaveLength(Math.floor(share / (1 + overhead)));
});

test('released memory may be taken again, once, and a released body takes nothing', () => {
  const bodies = createBodyAdmission(limits);
  const body = bodies.admit('a', 'x');
  body.take(5_000);
  body.release();
  body.release();
  expect(bodies.heldBytes).toBe(0);
  expect(body.take(1)).toBe(false);
  expect(bodies.admit('a', 'x').take(share - overhead)).toBe(true);
});
