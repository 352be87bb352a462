import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { repositoryRoot as root } from '../support/repository-root.js';

const answers = 'console/src/answers.ts';

describe('types of the answers that the console reads', () => {
  test('are those of the endpoints', () => {
    expect(check(root)).toBe('');
  });

  test('are not current when an endpoint answers something else', () => {
    const output = checkCopy((copy) => {
      const text = readFileSync(join(copy, answers), 'utf8');
      writeFileSync(join(copy, answers), text.replace('readonly hoursLeft: number | null;', ''));
    });
    expect(output).toContain(`not up to date: ${answers}`);
  });

  test('an operation that no endpoint has is refused by name', () => {
    const output = checkCopy((copy) =>
      writeFileSync(join(copy, 'console/src/made-up.ts'), "export type MadeUp = Answers['madeUp'];\n"),
    );
    expect(output).toContain("Answers['madeUp']");
  });
});

function check(folder: string): string {
  try {
    const script = join(root, 'hack/console-answers.mjs');
    execFileSync(process.execPath, [script, '--check', folder], { stdio: 'pipe' });
    return '';
  } catch (error) {
    return String((error as { readonly stderr?: unknown }).stderr);
  }
}

/** What the check says about a copy of the console in which something is changed. */
function checkCopy(change: (copy: string) => void): string {
  const copy = mkdtempSync(join(tmpdir(), 'console-answers-'));
  try {
    cpSync(join(root, 'console/src'), join(copy, 'console/src'), { recursive: true });
    change(copy);
    return check(copy);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
