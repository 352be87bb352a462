import { aborted, createStopSignal } from '../../adapters/process/stop-signal.js';
import { silentLogger } from '../../core/log.js';
import { integer, Settings, text } from '../../core/settings.js';
import { createConsole } from '../console.js';
import { startAnvil } from './anvil.js';
import { deployDevChain } from './deployments.js';
import { devAccounts } from './dev-accounts.js';
import { exposeChain } from './expose.js';
import { errorMessage } from '../../core/errors.js';
import { printableLines } from '../../core/terminal-text.js';

// Entry point of the image `paymaster-dev-chain`: the chain of `make run` on its own, for a trial in a cluster. It stores
// nothing, and listens only once every contract is deployed, so that a probe of its port shows when it is complete.

const console = createConsole((text) => process.stdout.write(text), Date.now);

process.exitCode = await main();

async function main(): Promise<number> {
  const stopping = createStopSignal();
  try {
    const at = readAddress();
    const anvil = await startAnvil({ log: silentLogger });
    try {
      const done = console.step('Deploying EntryPoints and paymaster contracts');
      const { chainId } = await deployDevChain({
        rpcUrl: anvil.url,
        signerAddress: devAccounts.signer.address,
        log: silentLogger,
      });
      done('complete');
      const exposed = await exposeChain(anvil.url, at);
      console.line(`chain ${chainId} listens on ${at.host}:${exposed.port}`);
      const isEnded = await Promise.race([
        aborted(stopping).then(() => false),
        anvil.exited.then(() => true),
      ]);
      await exposed.stop();
      if (isEnded) throw new Error('anvil has ended');
    } finally {
      await anvil.stop();
    }
    return 0;
  } catch (error) {
    process.stderr.write(`error: ${printableLines(errorMessage(error))}\n`);
    return 1;
  }
}

/** HOST and PORT; throws an error that says what is wrong with them. */
function readAddress(): { readonly host: string; readonly port: number } {
  const settings = new Settings(process.env);
  return settings.finish(
    settings.read({
      host: text('HOST', 'The address to listen on.', '127.0.0.1'),
      port: integer('PORT', 'The port to listen on.', { min: 1, max: 65_535 }, 8545),
    }),
  );
}
