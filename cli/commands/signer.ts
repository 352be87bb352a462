import { Option, type Command } from 'commander';
import { CallFailed } from '../../adapters/signer/call-failed.js';
import { newEnvelope } from '../../adapters/signer/envelope/new-envelope.js';
import { parseKey, readKeyFile } from '../../adapters/signer/file/key-file.js';
import { providerNames, type ProviderName } from '../../adapters/signer/providers/table.js';
import { DomainError } from '../../core/errors.js';
import { given } from '../../core/units/given.js';
import { addNoun, Refused, type Terminal } from '../terminal.js';

type WrapOptions = { readonly provider: ProviderName; readonly key: string; readonly from?: string };

export function addSigner(program: Command, terminal: Terminal): void {
  addNoun(program, 'signer', 'Files of signers')
    .command('wrap')
    .description('Print the file of a signer of kind envelope, for a new key that is shown to nobody')
    .addOption(
      new Option('--provider <name>', 'whose key wraps it').choices(providerNames).makeOptionMandatory(),
    )
    .requiredOption('--key <key>', 'the key that wraps it, by the name that the provider gives it')
    .option('--from <file>', 'wrap the private key of this file instead of a new one')
    .action(async ({ provider, key, from }: WrapOptions) => {
      const privateKey = from === undefined ? undefined : parseKey(await readKeyFile(from, 'group'), from);
      try {
        terminal.out(
          await newEnvelope({ provider, key, environment: terminal.env, ...given({ privateKey }) }),
        );
      } catch (error) {
        if (!(error instanceof CallFailed)) throw error;
        if (error.failure === 'refused') throw new Refused(error.message);
        throw new DomainError('UNAVAILABLE', error.message, { cause: error });
      }
    });
}
