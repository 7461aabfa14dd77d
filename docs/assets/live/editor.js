/* An editor for Python: prism-code-editor (editor/), with this site's keys. */
import "./editor/prism/languages/python.js";
import "./editor/languages/python.js";
import { defaultCommands, editHistory } from "./editor/extensions/commands/index.js";
import { createEditor } from "./editor/index.js";
import { MOST_CODE } from "./link.js";

export function makeEditor(value, label, { change, run, leave }) {
  const element = document.createElement("div");
  element.className = "live-code";
  let silent = true; // what this file sets is no edit
  const options = {
    language: "python",
    tabSize: 4,
    insertSpaces: true,
    lineNumbers: false,
    wordWrap: true, // no code out of sight behind a long line
    value,
    onUpdate: (code) => silent || change(code),
  };
  const editor = createEditor(element, options, defaultCommands(), editHistory());
  silent = false;
  editor.textarea.setAttribute("aria-label", label);
  editor.textarea.maxLength = MOST_CODE;
  editor.keyCommandMap.Escape = () => {
    leave();
    return true;
  };
  const runOnEnter = (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation();
    run();
  };
  element.addEventListener("keydown", runOnEnter, true);
  return {
    element,
    focus: () => editor.textarea.focus(),
    set: (code) => {
      if (code === editor.value) return;
      silent = true;
      editor.setOptions({ value: code });
      silent = false;
    },
    /* Put the cursor where a line begins, counted from 1. */
    go: (number) => {
      const before = editor.value.split("\n").slice(0, number - 1);
      const start = before.join("\n").length;
      editor.textarea.setSelectionRange(...Array(2).fill(start + Number(number > 1)));
      editor.textarea.focus();
      (editor.lines[number] ?? element).scrollIntoView({ block: "center" });
    },
    /* Mark a line, counted from 1; 0 for none. */
    line: (number) => {
      element.querySelector(".live-line")?.classList.remove("live-line");
      editor.lines[number]?.classList.toggle("live-line", number > 0);
    },
  };
}
