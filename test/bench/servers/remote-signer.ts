import { loadNativeCurve } from '../../../adapters/signer/curve.js';
import { keccak256 } from '../../../core/crypto/keccak.js';
import { bytesToHex, hexToBytes, type Hex } from '../../../core/units/hex.js';
import { startFakeWeb3signer } from '../../fakes/signers/web3signer.js';
import { remoteKey, remoteSigner } from '../fixture.js';
import { reportSubject } from './subject.js';

/**
 * A remote signer in another process, as slow and as busy as {@link remoteSigner} says. A real one is on another machine: this one takes
 * as little of the machine as it can.
 */
const curve = await loadNativeCurve();
const fake = await startFakeWeb3signer([remoteKey], (key, data) =>
  bytesToHex(curve.sign(keccak256(hexToBytes(data as Hex)), hexToBytes(key as Hex))),
);
Object.assign(fake.switches, remoteSigner);
reportSubject(Number(new URL(fake.origin).port), {
  counts: () => ({ signatures: fake.asked.length, throttled: fake.refused() }),
  stop: () => fake.stop(),
});
