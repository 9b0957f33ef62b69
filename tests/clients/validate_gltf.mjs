// Results of the Khronos validator for glTF files.
//
//   node validate_gltf.mjs FILES.json
//
// FILES.json is a list of paths; each response is one line of JSON: the counts by severity and the first messages.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import validator from 'gltf-validator';

const SEVERITIES = ['error', 'warning', 'info', 'hint'];

for (const file of JSON.parse(readFileSync(process.argv[2]))) {
  const report = await validator.validateBytes(new Uint8Array(readFileSync(file)), {
    uri: file,
    maxIssues: 100,
    externalResourceFunction: async (uri) => new Uint8Array(readFileSync(join(dirname(file), decodeURIComponent(uri)))),
  });
  const { numErrors, numWarnings, numInfos, messages } = report.issues;
  const first = messages
    .filter(({ severity }) => severity < 2)
    .slice(0, 5)
    .map(({ severity, code, message, pointer }) => `${SEVERITIES[severity]} ${code} at ${pointer}: ${message}`);
  process.stdout.write(`${JSON.stringify({ errors: numErrors, warnings: numWarnings, infos: numInfos, messages: first })}\n`);
}
