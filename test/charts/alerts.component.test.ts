import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { repositoryRoot } from '../support/repository-root.js';
import { alertCases, type AlertCase } from './support/alert-cases.js';
import { renderOperator } from './support/helm.js';

// The alerts as the chart renders them, evaluated by Prometheus itself.

type Rule = {
  readonly alert: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<string, string>>;
};

const namespace = 'gas-system';
const set = ['postgres.bundled.enabled=true', 'monitoring.prometheusRule.enabled=true'];
const spec = renderOperator({ namespace, set }).find(({ kind }) => kind === 'PrometheusRule')?.spec as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = spec.groups.flatMap((group) => group.rules);
const runbooks = readFileSync(join(repositoryRoot, 'docs/runbooks.md'), 'utf8');

let directory: string;
let promtool: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'alerts-'));
  writeFileSync(join(directory, 'rules.yaml'), stringify(spec));
  promtool = execFileSync('sh', [join(repositoryRoot, 'hack/promtool/build.sh')], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim();
}, 1_200_000);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('promtool accepts the rules', () => {
  expect(run('check', 'rules', join(directory, 'rules.yaml'))).toMatchObject({ status: 0 });
});

test('each alert has a case in both directions', () => {
  const tried = new Set(alertCases.map(({ alert }) => alert));
  expect([...tried].toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
});

describe.each(alertCases)('$alert', ({ alert, at = 20, naming = '', fires, quiet }) => {
  test.each([
    { name: 'fires', series: fires, isFiring: true },
    { name: 'stays quiet for values near the bound', series: quiet, isFiring: false },
  ])('$name', ({ series, isFiring }) => {
    const file = join(directory, `${alert}-${isFiring}.yaml`);
    writeFileSync(file, stringify(unitTest({ alert, at, naming, series, isFiring })));
    expect(run('test', 'rules', file)).toMatchObject({ status: 0, stderr: '' });
  });
});

describe('the runbook', () => {
  test.each(rules)('of $alert is where its link leads, and says what to see, do and lose', ({ alert, annotations }) => {
    const [page, anchor] = (annotations['runbook_url'] ?? '').split('#');
    expect(page).toMatch(/\/docs\/runbooks\.md$/);
    expect(anchor).toBe(alert.toLowerCase());
    const section = runbooks.split(/^### /m).find((text) => text.startsWith(`${alert}\n`)) ?? '';
    for (const part of ['**Means.**', '**See.**', '**Do.**', '**Waiting costs.**']) expect(section).toContain(part);
  });

  test('is about alerts that exist', () => {
    const sections = [...runbooks.matchAll(/^### (Paymaster\w+)$/gm)].map((match) => match[1] ?? '');
    expect(sections.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
  });
});

test('what an alert is about can be seen on the Grafana dashboard', () => {
  const files = join(repositoryRoot, 'charts/paymaster-operator/files');
  const named = (file: string) =>
    new Set(readFileSync(join(files, file), 'utf8').match(/\bpaymaster_[a-z_]+(?=\{| ==)/g));
  const shown = named('grafana.json');
  // How often a chain makes blocks: a condition of an alert, not its subject.
  const besides = ['paymaster_follower_block'];
  expect([...named('alerts.yaml')].filter((name) => !shown.has(name))).toEqual(besides);
});

test('each alert says how urgent it is, what is wrong and what to do', () => {
  for (const { labels, annotations } of rules) {
    expect(['critical', 'warning']).toContain(labels.severity);
    expect(annotations['summary']).toMatch(/\.$/);
    expect(annotations['description']).toMatch(/\.$/);
  }
});

test('alerts about limits say in their text which paymaster and policy they are about', () => {
  const ofLimits = rules.filter(({ alert }) => /LimitNearlyFull$|LimitFull$/.test(alert));
  expect(ofLimits).toHaveLength(2);
  for (const { annotations } of ofLimits)
    expect(annotations['summary']).toMatch(/limit \{\{ \$labels\.policy \}\} of paymaster \{\{ \$labels\.paymaster \}\}/);
});

function unitTest({
  alert,
  at,
  naming,
  series,
  isFiring,
}: {
  readonly alert: string;
  readonly at: number;
  readonly naming: string;
  readonly series: AlertCase['fires'];
  readonly isFiring: boolean;
}) {
  const input = Object.entries(series).map(([name, values]) => ({
    series: name.replace('{', `{namespace="${namespace}",`),
    values,
  }));
  return {
    rule_files: ['rules.yaml'],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: input,
        promql_expr_test: [
          {
            expr: `count(ALERTS{alertname="${alert}",alertstate="firing"${naming}})`,
            eval_time: `${at}m`,
            exp_samples: isFiring ? [{ labels: '{}', value: 1 }] : [],
          },
        ],
      },
    ],
  };
}

function run(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(promtool, [...args], { encoding: 'utf8', timeout: 240_000 });
  return { status, stdout, stderr };
}
