/* What Speech Rule Engine says of formulas: MathML in a JSON list on standard input, speech out. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const sre = createRequire(import.meta.url)("speech-rule-engine");
await sre.setupEngine({ locale: "en", domain: "clearspeak" });
const said = JSON.parse(readFileSync(0, "utf8")).map((one) => sre.toSpeech(one));
process.stdout.write(JSON.stringify(said));
