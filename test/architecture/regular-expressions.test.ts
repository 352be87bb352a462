import { describe, expect, test } from '@jest/globals';
import { faultOf, faultsOf, hashOf, isBounded, patternsOfProduct, recordedHashes } from './patterns.js';

/**
 * Every regular expression of the product takes time linear in the text, whatever the text is. Here those are judged that are not in
 * `linear-patterns.json`; `make test-release` judges all of them again.
 */

const { found, builtFromText } = patternsOfProduct();
const recorded = new Set(recordedHashes());
const unbounded = found.filter(({ source }) => !isBounded(source));

describe('regular expressions of the product', () => {
  test('are found: literals, patterns of schemas, and those in rules', () => {
    const sources = found.map(({ source }) => source);
    expect(sources).toContain('^(-?)([0-9]+)(?:\\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$');
    expect(sources).toContain('^0x[0-9a-fA-F]{40}$');
    expect(sources).toContain('^[0-9]+$');
    expect(sources.length).toBeGreaterThan(100);
  });

  test('are written as they are: none is built from text while the process runs', () => {
    expect(builtFromText).toEqual([]);
  });

  test('are linear: those that are new are judged now, and `make generate` records that they were', () => {
    const unjudged = unbounded.filter((pattern) => !recorded.has(hashOf(pattern)));
    expect(faultsOf(unjudged)).toEqual([]);
    expect({
      'linear, to be recorded by make generate': unjudged.map(({ file, source }) => `${file} ${source}`),
    }).toEqual({ 'linear, to be recorded by make generate': [] });
  });

  test('that were recorded are still there: `make generate` takes others away', () => {
    const present = new Set(unbounded.map(hashOf));
    expect([...recorded].filter((hash) => !present.has(hash))).toEqual([]);
  });

  test.each(['0+$', '^a*a*$', '(a+)+$', '\\s+$', '([a-z]+:)+x', 'gas.*exceed'])(
    'as /%s/ would be noticed',
    (source) => {
      expect(faultOf({ source, flags: '' })).toBeDefined();
    },
  );
});
