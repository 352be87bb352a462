import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseAllDocuments } from 'yaml';
import { asKubectl, renderYaml } from '../../adapters/manifests/yaml.js';
import { findAssets } from '../support/cluster/control-plane.js';

// Our YAML against the reader of kubectl itself, which needs no server for this.

const kubectl = join(findAssets(), 'kubectl');

function readByKubectl(yaml: string): Readonly<Record<string, unknown>> {
  const args = ['label', '--local', '-f', '-', 'a=b', '-o', 'json'];
  return JSON.parse(execFileSync(kubectl, args, { input: yaml, encoding: 'utf8', maxBuffer: 2 ** 28 }));
}

const frame = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'texts' } };

/** What readers of YAML 1.1 and 1.2, and of Go, take as something else than text, or nearly so. */
const odd = [
  ...'on off y n yes no Yes NO On OFF Y N true False TRUE null Null ~ << = - ? : # !x &a *a {a [a | > %a @a `a --- ...'.split(
    ' ',
  ),
  ...'1_000 0b11 0B11 0o17 0O17 017 0x1F 0X1F -0x1f +0b1 0x 0b 08 1__0 _1 1_ 1e3 1E3 1e+3 .5 5. -.5 1.5e3 0.1_0'.split(
    ' ',
  ),
  ...'.inf -.Inf .NaN +1 -0 12e03 2001-01-01 2001-12-14t21:59:43.10-05:00 1:20 190:20:30 1:20.5'.split(' '),
  '',
  "'",
  '"',
  '- a',
  'a: b',
  'a #b',
  ' a',
  'a ',
  'a\\nb',
  'a\nb',
  '\ta',
  'a\tb',
  '\u00a0',
  '\u2028',
  '\u0085',
  'é',
  '😀',
  '\u0000',
  '\u001b[31m',
  '\u{e0020}a',
  '\u0000'.repeat(15) + '😀'.repeat(80),
  '0x'.padEnd(42, 'a'),
  '0x'.padEnd(42, '0'),
];

describe('every text that we print', () => {
  const texts = (more: readonly string[]) => {
    const all = [...odd, ...more];
    const data = Object.fromEntries(all.map((text, index) => [`k${index}`, text]));
    return { data, read: readByKubectl(renderYaml({ ...frame, data }))['data'] };
  };

  test('is the same text for kubectl', () => {
    const anyText = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 40 }),
      fc.string({ maxLength: 12 }),
      fc.string({ unit: fc.constantFrom(...'01279abxXobBO_+-.:eEyYnN ~'.split('')), maxLength: 8 }),
      fc.string({ unit: fc.constantFrom(...' \n\t#:-a"\'\\'.split('')), maxLength: 60 }),
    );
    fc.assert(
      fc.property(
        fc.array(
          anyText.filter((text) => text.isWellFormed()),
          { minLength: 300, maxLength: 400 },
        ),
        (more) => {
          const { data, read } = texts(more);
          expect(read).toEqual(data);
        },
      ),
      { numRuns: 6 },
    );
  });
});

describe('every plain value that we read', () => {
  // In a list, which is read without a server, whatever its items are. Infinity and NaN are no JSON.
  const isPlain = (text: string) => /^[\w+.<=~][\w+.:=<~-]*$/.test(text) && !/inf|nan/i.test(text);
  const read = (values: readonly string[]) => {
    const yaml = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nvalues:\n${values.map((value) => `- ${value}\n`).join('')}`;
    const [document] = [...parseAllDocuments(yaml, asKubectl)];
    const ours = (document!.toJS() as { values: readonly unknown[] }).values;
    const theirs = readByKubectl(yaml)['values'] as readonly unknown[];
    return values.map((value, index) => ({ value, ours: ours[index], theirs: theirs[index] }));
  };

  test('is what kubectl reads', () => {
    const plain = fc.string({
      unit: fc.constantFrom(...'0012789abfxXobBO_+-.eEyYnNo'.split('')),
      minLength: 1,
      maxLength: 9,
    });
    // Sampled, since a list of thousands takes minutes to shrink, and names the values that differ anyway.
    const values = [...odd.filter(isPlain), ...fc.sample(plain.filter(isPlain), 4_000)];
    const differing = read(values).filter(
      ({ ours, theirs }) => ours !== theirs && !(ours === 0 && theirs === 0),
    );
    expect(differing).toEqual([]);
  });
});
