import { startFakeWeb3signer } from '../../fakes/signers/web3signer.js';
import { remoteKey, remoteSigner } from '../fixture.js';
import { reportSubject } from './subject.js';

/** A remote signer in another process, as slow and as busy as {@link remoteSigner} says. */
const fake = await startFakeWeb3signer([remoteKey]);
Object.assign(fake.switches, remoteSigner);
reportSubject(Number(new URL(fake.origin).port), {
  counts: () => ({ signatures: fake.asked.length, throttled: fake.refused() }),
  stop: () => fake.stop(),
});
