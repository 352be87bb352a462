import { readFileSync } from 'node:fs';
import { Option, type Command } from 'commander';
import { readYaml, renderYaml } from '../../adapters/manifests/yaml.js';
import { DomainError, invalidInput, messageOf } from '../../core/errors.js';
import { given } from '../../core/units/given.js';
import { apiVersion } from '../../core/meta/meta.js';
import { validateResource } from '../../core/resources/validate.js';
import { alchemy } from '../import/alchemy.js';
import { takeFields, wrong, type Format } from '../import/document.js';
import { pimlico } from '../import/pimlico.js';
import { Refused, say, type Terminal } from '../terminal.js';
import { isObject } from '../../core/schema/json-value.js';

export const importFormats = { pimlico, alchemy } as const satisfies Readonly<Record<string, Format>>;

type Options = {
  readonly from: keyof typeof importFormats;
  readonly namespace: string;
  readonly paymaster: string;
};

export function addImport(program: Command, terminal: Terminal): void {
  program
    .command('import')
    .description(
      "Print manifests of another provider's policy; exit code 1 if something that bounds sponsorship has no counterpart",
    )
    .argument('<file>', 'the policy as JSON, as their API answers it; - is stdin')
    .addOption(
      new Option('--from <provider>', 'whose it is')
        .choices(Object.keys(importFormats))
        .makeOptionMandatory(),
    )
    .requiredOption('-n, --namespace <name>', 'of the organisation')
    .requiredOption('--paymaster <name>', 'the Paymaster that the policies are for')
    .action((file: string, options: Options) => importPolicy(terminal, file, options));
}

function importPolicy(terminal: Terminal, file: string, options: Options): void {
  const { namespace, paymaster } = options;
  const format = importFormats[options.from];
  const policy = format.policyOf(read(file));
  if (!isObject(policy)) throw wrong(file, 'one policy', policy);
  const name = textOf(format.nameOf(policy)) ?? 'imported';
  const campaign = textOf(format.campaignOf(policy));
  const { policies, notes, lost } = takeFields(format, policy);
  const documents = policies.map(({ end, spec }) => {
    const object = {
      apiVersion,
      kind: 'PaymasterPolicy' as const,
      metadata: { name: `${slug(name)}-${end}`, namespace },
      spec: {
        paymasterRef: { name: paymaster },
        name: `${name.slice(0, 40)} ${end}`,
        ...(format.isActive(policy) ? {} : { active: false }),
        ...given({ campaign }),
        ...spec,
      },
    };
    const problems = validateResource('PaymasterPolicy', object);
    if (problems.length > 0)
      throw invalidInput(problems.map(({ field, ...rest }) => ({ ...rest, field: `${end}: ${field}` })));
    return renderYaml(object);
  });
  for (const note of notes) say(terminal, note);
  if (documents.length > 0)
    say(terminal, 'limits begin at zero: for endless ones "assumeUsed" says what was used before');
  for (const each of lost) say(terminal, `has no counterpart: ${each}`);
  terminal.out(documents.join('---\n'));
  if (lost.length > 0) throw new Refused();
}

function read(file: string) {
  try {
    const document = readYaml(readFileSync(file === '-' ? 0 : file, 'utf8'));
    if (isObject(document)) return document;
  } catch (cause) {
    throw new DomainError('INVALID_INPUT', `${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
  throw invalidInput({ field: file, expected: 'JSON of one policy' });
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The name of an object that people recognise. */
function slug(name: string): string {
  const words = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
  return words.slice(0, 40).replaceAll(/^-|-$/g, '') || 'imported';
}
