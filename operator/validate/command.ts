import { parseArgs } from 'node:util';
import { readPlatformDefaults } from '../../core/config/platform-settings.js';
import { readWebhookRules } from '../../core/policy/webhook/private-hosts.js';
import { Settings } from '../../core/settings.js';
import { findingsOf } from './findings.js';
import { judge, type JudgeRules } from './judge.js';
import { readFiles } from './read-files.js';
import { hasErrors, renderJson, renderText } from './report.js';
import { messageOf } from '../../core/errors.js';

export const usage = `usage: validate [--json] [--with PATH]... [--dev] PATH...
  PATH       a manifest, or a folder of manifests with its subfolders
  --with     manifests that are there already: Chains, Organisations, or all of the cluster
  --dev      webhooks may use http and loopback addresses, as under "make run"
  --json     one JSON document instead of lines
exit code: 0 when nothing is wrong (warnings are fine), 1 when something is, 2 when the command itself is wrong`;

/** The arguments of the command are wrong. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/**
 * Checks manifests as the operator would. The platform's settings are those of the operator's environment
 * (`PAYMASTER_QUOTA_…`, `PAYMASTER_DEFAULT_CONTRACT_ACTION`, `PAYMASTER_WEBHOOK_…`). Throws UsageError, UnreadablePath
 * and SettingsError.
 */
export async function validate(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly output: string; readonly exitCode: 0 | 1 }> {
  const { paths, context, isJson, isDev } = parseCommand(args);
  const settings = new Settings(env);
  const rules: JudgeRules = settings.finish({
    platform: readPlatformDefaults(settings),
    webhookRules: {
      ...readWebhookRules(settings),
      ...(isDev ? { allowHttp: true, allowLoopback: true } : {}),
    },
  });
  const { files, objects, problems, leftOut } = readFiles(paths);
  const around = readFiles(context);
  const identified = objects.length + problems.length;
  if (identified === 0) throw new UsageError(`no manifest of ours in ${paths.join(', ')}`);

  const judgement = await judge({ objects, context: around.objects }, rules);
  const findings = findingsOf([...problems, ...around.problems], judgement);
  const report = { files, leftOut, objects: objects.length, findings };
  return {
    output: isJson ? renderJson(report) : renderText(report),
    exitCode: hasErrors(findings) ? 1 : 0,
  };
}

function parseCommand(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        json: { type: 'boolean' },
        dev: { type: 'boolean' },
        with: { type: 'string', multiple: true },
      },
    });
    if (positionals.length === 0) throw new UsageError('name the manifests to judge');
    return {
      paths: positionals,
      context: values.with ?? [],
      isJson: values.json === true,
      isDev: values.dev === true,
    };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(messageOf(error));
  }
}
