import { faultsOf, hashOf, isBounded, patternsOfProduct, recordedHashes, writeRecord } from './patterns.js';

// A part of `make generate`: judges the regular expressions that are not in linear-patterns.json, and writes it. One that is not linear is
// an error, and the file stays as it was.

const recorded = new Set(recordedHashes());
const unbounded = patternsOfProduct().found.filter(({ source }) => !isBounded(source));
const faults = faultsOf(unbounded.filter((pattern) => !recorded.has(hashOf(pattern))));
if (faults.length === 0) writeRecord(unbounded.map(hashOf));
else {
  for (const fault of faults) console.error(fault);
  process.exitCode = 1;
}
