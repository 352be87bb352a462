import { describe, expect, test } from '@jest/globals';
import { definitions } from '../../../core/resources/schemas.js';
import { compileSchema } from '../../../core/schema/validate.js';
import { formatManifestProblem, parseManifest } from '../../../adapters/manifests/parse-manifest.js';

const paymaster = `apiVersion: paymasters.dev/v1alpha1
kind: Paymaster
metadata:
  name: shop
  namespace: acme
spec:
  name: Shop
  chainId: 1
  type: HYBRID
  version: 1.1.0
`;
const problemsOf = (text: string) => parseManifest('a.yaml', text).problems.map(formatManifestProblem);

describe('a manifest', () => {
  test('holds an object per document, empty documents left out', () => {
    const parsed = parseManifest('a.yaml', `# only a comment\n---\n${paymaster}---\n---\n${paymaster}...\n`);
    expect(parsed.problems).toEqual([]);
    expect(parsed.objects.map(({ kind, key }) => [kind, key])).toEqual([
      ['Paymaster', { namespace: 'acme', name: 'shop' }],
      ['Paymaster', { namespace: 'acme', name: 'shop' }],
    ]);
    expect(parsed.isComplete).toBe(true);
  });

  test('that is empty holds nothing and is complete', () => {
    for (const text of ['', '\n', '---\n', '# nothing\n'])
      expect(parseManifest('a.yaml', text)).toMatchObject({ objects: [], problems: [], isComplete: true });
  });

  test.each([
    ['{? '.repeat(200), '}'.repeat(200)],
    ['? '.repeat(200), 'a'],
    ['- ? '.repeat(200), 'a'],
    ['{['.repeat(200), ']: 1}'.repeat(200)],
  ])('whose keys are lists or maps is refused before they are written as text: %#', (begin, end) => {
    expect(problemsOf(begin + end)[0]).toContain('A key must be plain text, not a list, a map or an alias');
  });

  test('is taken as it stands: what looks like a template is text', () => {
    const [object] = parseManifest('a.yaml', paymaster.replace('Shop', "'${HOME} {{ .Values.x }}'")).objects;
    expect(object?.spec['name']).toBe('${HOME} {{ .Values.x }}');
  });

  test('keeps versions and the like as text', () => {
    const [object] = parseManifest('a.yaml', paymaster).objects;
    expect(object?.spec).toEqual({ name: 'Shop', chainId: 1, type: 'HYBRID', version: '1.1.0' });
  });

  test('carries labels and annotations', () => {
    const text = paymaster.replace(
      'spec:',
      '  labels: {team: a}\n  annotations: {example.com/x: "y"}\nspec:',
    );
    expect(parseManifest('a.yaml', text).objects[0]).toMatchObject({
      labels: { team: 'a' },
      annotations: { 'example.com/x': 'y' },
    });
  });

  test('an address without quotes is told to be quoted, and shown as it was written', () => {
    const address = '0x00000000000000000000000000000000000000F1';
    const text = `${paymaster}  funding:\n    address: ${address}\n  accountFactories: [${address}]\n`;
    const [object] = parseManifest('a.yaml', text).objects;
    const validate = compileSchema(definitions.Paymaster.spec, 'spec');
    const told = validate(object?.spec).map((problem) => formatManifestProblem(object!.locate(problem)));
    const wanted =
      'must be an address: 0x and 40 hex digits, in quotes: without them kubectl reads 0x00000000000000000000000000000000000000F1 as 241, got "0x00000000000000000000000000000000000000F1"';
    expect(told).toEqual([
      `a.yaml:12:5: spec.funding.address ${wanted}`,
      `a.yaml:13:22: spec.accountFactories[0] ${wanted}`,
    ]);
    const inQuotes = parseManifest('a.yaml', text.replaceAll(address, `'${address}'`)).objects[0];
    expect(validate(inQuotes?.spec)).toEqual([]);
  });

  test('an address without quotes is text where it is too long for a number, as for kubectl', () => {
    const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
    const text = `${paymaster}  funding:\n    address: ${address}\n`;
    expect(parseManifest('a.yaml', text).objects[0]?.spec['funding']).toEqual({ address });
  });

  test('is read as kubectl reads it, and a problem says what kubectl would send', () => {
    const text = `${paymaster}  suspended: on\n  maxExpirySeconds: 1_0\n  keyGeneration: 012\n  defaultContractAction: no\n`;
    const [object] = parseManifest('a.yaml', text).objects;
    expect(object?.spec).toMatchObject({ suspended: true, maxExpirySeconds: 10, keyGeneration: 10 });
    const [problem] = compileSchema(definitions.Paymaster.spec, 'spec')(object?.spec);
    expect(formatManifestProblem(object!.locate(problem!))).toBe(
      'a.yaml:14:3: spec.defaultContractAction must be "Allow" or "Deny", in quotes: without them kubectl reads no as false, got "no"',
    );
  });

  test('takes over maps by `<<`', () => {
    const text = paymaster
      .replace('spec:', 'spec: &base')
      .concat(`---\n${paymaster.replace('name: shop', 'name: other')}`);
    const merged = text.replace(/spec:\n(?![\s\S]*spec:\n)/, 'spec:\n  <<: {suspended: true}\n');
    expect(parseManifest('a.yaml', merged).objects.at(-1)?.spec).toMatchObject({
      suspended: true,
      name: 'Shop',
    });
  });

  test('may be a List, whose items are told by their place', () => {
    const indented = (text: string) => text.trimEnd().replaceAll('\n', '\n  ');
    const list = `apiVersion: v1\nkind: List\nitems:\n- ${indented(paymaster)}\n- ${indented(paymaster.replace(/spec:[\s\S]*/, 'spec: 5'))}\n- 7\n`;
    const { objects, problems, identities } = parseManifest('a.yaml', list);
    expect(objects.map(({ key }) => key.name)).toEqual(['shop']);
    expect(identities).toHaveLength(2);
    expect(problems.map(formatManifestProblem)).toEqual([
      expect.stringMatching(/^a\.yaml:\d+:3: items\[1\]\.spec must be an object: what is wanted, got 5$/),
      expect.stringMatching(/^a\.yaml:\d+:3: items\[2\] must be an object with apiVersion/),
    ]);
  });

  test('places a problem of any field, a missing one at its nearest parent', () => {
    const text = `---\n${paymaster}  funding:\n    address: 5\n`;
    const [object] = parseManifest('a.yaml', text).objects;
    const place = (field: string) => {
      const { line, column } = object?.locate({ field, expected: '' }) ?? {};
      return [line, column];
    };
    expect(place('metadata.name')).toEqual([5, 3]);
    expect(place('spec.funding.address')).toEqual([13, 5]);
    expect(place('spec.funding.message')).toEqual([12, 3]);
    expect(place('spec.maxExpirySeconds')).toEqual([7, 1]);
    expect(place('nonsense')).toEqual([2, 1]);
  });
});

describe('a bad document', () => {
  test('does not hide the good ones of its file', () => {
    const parsed = parseManifest(
      'a.yaml',
      `${paymaster}---\nkind: [\n---\n${paymaster.replace('shop', 'game')}`,
    );
    expect(parsed.objects.map(({ key }) => key.name)).toEqual(['shop', 'game']);
    expect(parsed.problems).toHaveLength(1);
    expect(parsed.isComplete).toBe(false);
  });

  test('reports every key that is twice in a map, among thousands', () => {
    const keys = Array.from({ length: 5000 }, (_, i) => `  k${i}: {same: 1}`).join('\n');
    const { problems } = parseManifest('a.yaml', `spec:\n${keys}\n  k7: 2\n  k8: {a: 1, a: 2}\n`);
    expect(problems.map(({ line, column }) => [line, column])).toEqual([
      [5002, 3],
      [5003, 3],
      [5003, 14],
    ]);
  });

  test('that still says which object it is about is told apart from one that does not', () => {
    const parsed = parseManifest('a.yaml', paymaster.replace('spec:', '  finalizers: []\nspec:'));
    expect(parsed).toMatchObject({
      objects: [],
      identities: [{ kind: 'Paymaster', key: { namespace: 'acme', name: 'shop' } }],
      isComplete: true,
    });
  });

  const without = (line: RegExp) => paymaster.replace(line, '');
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\n${'bcdefghi'
    .split('')
    .map((name, n) => `${name}: &${name} [${Array.from({ length: 9 }, () => `*${'abcdefgh'[n]}`).join(',')}]`)
    .join('\n')}`;

  test.each([
    { name: 'no YAML', text: 'a: [1', want: /^a\.yaml:1:\d+: document must be valid YAML/ },
    {
      name: 'a tab as indentation',
      text: 'spec:\n\tname: x',
      want: /^a\.yaml:2:\d+: document must be valid YAML/,
    },
    {
      name: 'a key twice',
      text: `${paymaster}spec: {}\n`,
      want: /^a\.yaml:11:1: document must be valid YAML/,
    },
    { name: 'an unclosed quote', text: 'a: "x', want: /document must be valid YAML/ },
    { name: 'an unknown alias', text: 'a: *nobody', want: /document must be (valid|plain) YAML/ },
    { name: 'aliases that would fill the memory', text: bomb, want: /document must be plain YAML/ },
    {
      name: 'brackets without end',
      text: '['.repeat(50_000),
      want: /^a\.yaml:1:\d+: document must be valid YAML/,
    },
    {
      name: 'maps without end',
      text: '{a: '.repeat(50_000),
      want: /^a\.yaml:1:\d+: document must be valid YAML/,
    },
    { name: 'dashes without end', text: '- '.repeat(50_000), want: /^a\.yaml:1:\d+: document must be/ },
    { name: 'binary', text: '\u0000\u0001\u0002', want: /^a\.yaml:1:1: document must be/ },
    { name: 'a list', text: '- a\n- b', want: /^a\.yaml:1:1: document must be an object/ },
    { name: 'a text', text: 'hello', want: /^a\.yaml:1:1: document must be an object/ },
    { name: 'a number', text: '5', want: /^a\.yaml:1:1: document must be an object/ },
    {
      name: 'no apiVersion',
      text: without(/apiVersion.*\n/),
      want: /apiVersion must be "paymasters\.dev\/v1alpha1"$/,
    },
    {
      name: 'another apiVersion',
      text: paymaster.replace('v1alpha1', 'v1'),
      want: /^a\.yaml:1:1: apiVersion must be "paymasters\.dev\/v1alpha1", got "paymasters\.dev\/v1"$/,
    },
    {
      name: 'no kind',
      text: without(/kind.*\n/),
      want: /kind must be one of Chain, .*PaymasterPolicy, DashboardToken$/,
    },
    {
      name: 'a kind in lower case',
      text: paymaster.replace('kind: Paymaster', 'kind: paymaster'),
      want: /^a\.yaml:2:1: kind must be one of .*, got "paymaster"$/,
    },
    {
      name: 'a kind that is a list',
      text: paymaster.replace('Paymaster', '[Paymaster]'),
      want: /kind must be one of/,
    },
    {
      name: 'a kind from the prototype',
      text: paymaster.replace('Paymaster', 'toString'),
      want: /kind must be one of/,
    },
    { name: 'no metadata', text: without(/metadata:\n.*\n.*\n/), want: /metadata\.name must be set/ },
    { name: 'no name', text: without(/ {2}name: shop\n/), want: /^a\.yaml:3:1: metadata\.name must be set/ },
    {
      name: 'a number as name',
      text: paymaster.replace('name: shop', 'name: 5'),
      want: /metadata\.name must be set.*got 5/,
    },
    {
      name: 'a name in upper case',
      text: paymaster.replace('name: shop', 'name: Shop'),
      want: /^a\.yaml:4:3: metadata\.name must be lowercase letters/,
    },
    { name: 'no namespace', text: without(/ {2}namespace.*\n/), want: /metadata\.namespace must be set/ },
    {
      name: 'a namespace of a cluster kind',
      text: paymaster.replace('Paymaster', 'Chain'),
      want: /belongs to no namespace/,
    },
    {
      name: 'a namespace that is a list',
      text: paymaster.replace('acme', '[a]'),
      want: /metadata\.namespace must be text/,
    },
    { name: 'no spec', text: paymaster.replace(/spec:[^]*/, ''), want: /spec must be an object/ },
    {
      name: 'a spec that is a text',
      text: paymaster.replace(/spec:[^]*/, 'spec: x'),
      want: /^a\.yaml:6:1: spec must be an object/,
    },
    { name: 'a status', text: `${paymaster}status: {}\n`, want: /^a\.yaml:11:1: status must be left out/ },
    { name: 'an unknown top-level field', text: `${paymaster}data: 1\n`, want: /data must be left out/ },
    {
      name: 'what only a store may set',
      text: paymaster.replace('spec:', '  resourceVersion: "5"\nspec:'),
      want: /^a\.yaml:6:3: metadata\.resourceVersion must be left out/,
    },
    {
      name: 'labels that are a list',
      text: paymaster.replace('spec:', '  labels: [a]\nspec:'),
      want: /metadata\.labels must be an object/,
    },
    {
      name: 'a label that is a number',
      text: paymaster.replace('spec:', '  labels: {team: 5}\nspec:'),
      want: /^a\.yaml:6:12: metadata\.labels\["team"\] must be text.*got 5/,
    },
    {
      name: 'a label of 64 letters',
      text: paymaster.replace('spec:', `  labels: {team: ${'x'.repeat(64)}}\nspec:`),
      want: /at most 63/,
    },
    {
      name: 'an annotation that is null',
      text: paymaster.replace('spec:', '  annotations: {a: null}\nspec:'),
      want: /must be text/,
    },
  ])('with $name is reported by place, field and expectation', ({ text, want }) => {
    expect(problemsOf(text).join('\n')).toMatch(new RegExp(want.source, 'm'));
    expect(parseManifest('a.yaml', text).objects).toEqual([]);
  });
});
