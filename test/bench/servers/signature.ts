import { randomBytes } from 'node:crypto';
import { signerKey } from '../fixture.js';
import { loadNativeCurve } from '../../../adapters/signer/curve.js';

/** Answers each message with the CPU time of one native signature in µs: the unit in which the limit is checked. */
const key = Buffer.from(signerKey.slice(2), 'hex');
const curve = await loadNativeCurve();
const digests = Array.from({ length: 4000 }, () => randomBytes(32));

process.on('message', () => {
  const before = process.cpuUsage();
  for (const digest of digests) curve.sign(digest, key);
  const { user, system } = process.cpuUsage(before);
  process.send?.({ micros: (user + system) / digests.length });
});
process.on('disconnect', () => process.exit(0));
process.send?.({ ready: true });
