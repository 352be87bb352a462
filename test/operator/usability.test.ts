import { describe, expect, test } from '@jest/globals';
import type { EpochMs } from '../../core/units/time.js';
import {
  confirm,
  recheckMs,
  decideUsability,
  type Standing,
  type Usability,
} from '../../operator/facts/usability.js';
import { unknownProfile, type ProfileFacts } from '../../operator/facts/facts.js';

const good: ProfileFacts = {
  ...unknownProfile,
  code: 'CodePresent',
  entryPoint: 'EntryPointMatches',
  signer: 'Authorized',
};

describe('answers about a profile', () => {
  test.each<{ name: string; facts: Partial<ProfileFacts>; want: Usability | undefined }>([
    { name: 'that are all good', facts: {}, want: 'usable' },
    { name: 'without code', facts: { code: 'NoCode' }, want: 'CONTRACT_NOT_DEPLOYED' },
    { name: 'of another EntryPoint', facts: { entryPoint: 'OtherEntryPoint' }, want: 'ENTRY_POINT_MISMATCH' },
    { name: 'of another signer', facts: { signer: 'NotAuthorized' }, want: 'SIGNER_NOT_AUTHORIZED' },
    { name: 'with another hash', facts: { hash: 'OtherHash' }, want: 'SIGNATURE_REFUSED' },
    {
      name: 'that hash a delegate otherwise',
      facts: { hash: 'OtherInitCodeHash' },
      want: 'SIGNATURE_REFUSED',
    },
    { name: 'that ignore the tail', facts: { hash: 'TailNotRead' }, want: 'SIGNATURE_REFUSED' },
    { name: 'without a key of ours', facts: { signer: 'SignerNotFound' }, want: undefined },
    { name: 'that lack the code', facts: { code: 'Unknown' }, want: undefined },
    { name: 'that lack the signer', facts: { signer: 'Unknown' }, want: undefined },
  ])('$name', ({ facts, want }) => {
    expect(decideUsability({ ...good, ...facts })).toBe(want);
  });
});

/** `said`: pairs of seconds and answers, in order. */
const after = (...said: readonly (readonly [number, Usability])[]): Standing =>
  said.reduce<Standing>(
    (standing, [seconds, answer]) => confirm(standing, answer, (seconds * 1000) as EpochMs),
    {},
  );

describe('an answer counts', () => {
  const bad = 'SIGNER_NOT_AUTHORIZED';
  test.each<{ name: string; said: readonly (readonly [number, Usability])[]; want: Usability | undefined }>([
    { name: 'not when it was given once', said: [[0, bad]], want: undefined },
    { name: 'not when it was repeated too soon', said: [[0, bad], [9.9, bad]], want: undefined }, // prettier-ignore
    { name: 'when it was repeated after 10 s', said: [[0, bad], [10, bad]], want: bad }, // prettier-ignore
    { name: 'not when another one came between', said: [[0, bad], [5, 'usable'], [10, bad]], want: undefined }, // prettier-ignore
    { name: 'as it stood while another is in doubt', said: [[0, 'usable'], [10, 'usable'], [90, bad]], want: 'usable' }, // prettier-ignore
    { name: 'not within a minute of the last change', said: [[0, bad], [10, bad], [20, 'usable'], [69, 'usable']], want: bad }, // prettier-ignore
    { name: 'within a minute of the first "usable", which changes nothing', said: [[0, 'usable'], [10, 'usable'], [12, bad], [22, bad]], want: bad }, // prettier-ignore
    { name: 'not within a minute of a first stop', said: [[0, bad], [10, bad], [12, 'usable'], [22, 'usable']], want: bad }, // prettier-ignore
    { name: 'a minute after the last change', said: [[0, bad], [10, bad], [20, 'usable'], [70, 'usable']], want: 'usable' }, // prettier-ignore
  ])('$name', ({ said, want }) => {
    expect(after(...said).settled).toBe(want);
  });

  test('and the question is repeated at the earliest time at which it can count', () => {
    const at = (seconds: number) => (seconds * 1000) as EpochMs;
    expect(recheckMs(after([0, bad]), at(4))).toBe(6_000);
    expect(recheckMs(after([0, bad], [10, bad], [20, 'usable']), at(20))).toBe(50_000);
    expect(recheckMs(after([0, bad], [10, bad]), at(10))).toBeUndefined();
  });
});
