(() => {
  if (window.pliantStudio) return;
  window.pliantStudio = true;
  const labelled = (id) => document.querySelector(`label[for="${CSS.escape(id)}"]`)?.textContent ?? "";
  const set = (node, name, value) => { if (node && node.getAttribute(name) !== value) node.setAttribute(name, value); };

  // names for screen readers: the labels of the panel belong to no input of a slider
  function nameSliders() {
    for (const slider of document.querySelectorAll(".mantine-Slider-root")) {
      const name = labelled(slider.id);
      if (!name) continue;
      const thumb = slider.querySelector("[role=slider]");
      set(thumb, "aria-label", name);
      if (slider.hasAttribute("data-disabled")) set(thumb, "aria-disabled", "true");
      else thumb?.removeAttribute("aria-disabled");
      set(slider.parentElement.querySelector("input"), "aria-label", `${name}, value`);
    }
    for (const input of document.querySelectorAll("input:not([aria-label])")) {
      const row = input.closest(".mantine-Flex-root")?.parentElement?.closest(".mantine-Flex-root");
      const name = labelled(input.id) ? "" : row?.querySelector("label")?.textContent;
      if (name) set(input, "aria-label", `${name}, ${"xyz"[[...input.closest(".mantine-Flex-root").querySelectorAll("input")].indexOf(input)] ?? "value"}`);
    }
  }

  // folders are opened by Enter and Space too
  function openFolders() {
    for (const icon of document.querySelectorAll("svg.tabler-icon-chevron-up, svg.tabler-icon-chevron-down")) {
      const head = icon.parentElement;
      if (!head || head.matches("button, input, .mantine-Input-section")) continue;
      set(head, "role", "button");
      set(head, "tabindex", "0");
      set(head, "aria-expanded", String(icon.classList.contains("tabler-icon-chevron-up")));
      if (head.dataset.pliant) continue;
      head.dataset.pliant = "folder";
      head.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        event.stopPropagation();
        head.click();
      });
    }
  }

  function nameRest() {
    set(document.documentElement, "lang", "en");
    const canvas = document.querySelector("canvas[data-engine]");
    set(canvas, "role", "img");
    set(canvas, "aria-label", "The scene, drawn. Arrow keys turn the view, W A S D Q E move it.");
    for (const overlay of document.querySelectorAll("canvas:not([data-engine])")) set(overlay, "aria-hidden", "true");
    for (const button of document.querySelectorAll("button:not([aria-label])"))
      if (!button.textContent.trim()) set(button, "aria-label", button.title || "Panel");
  }

  let due = 0;
  function mend() {
    due = 0;
    nameSliders();
    openFolders();
    nameRest();
  }
  new MutationObserver(() => { due = due || setTimeout(mend, 250); }).observe(document.body, { childList: true, subtree: true });
  mend();

  // Escape leaves a text field, in which keys are text, and closes the list of keys
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    if (document.activeElement instanceof HTMLInputElement) document.activeElement.blur();
    [...document.querySelectorAll("[role=dialog] button")].find((button) => button.textContent === "Close")?.click();
  });
  // a browser that prefers dark pages asks for one
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const follow = () => {
    const dark = document.documentElement.dataset.mantineColorScheme === "dark";
    if (dark !== prefersDark.matches)
      document.documentElement.dispatchEvent(new KeyboardEvent("keydown", {
        key: prefersDark.matches ? "u" : "i",  // without a code: those of letters may be held keys of the camera
        ctrlKey: true, altKey: true, shiftKey: true, bubbles: true,
      }));
  };
  prefersDark.addEventListener("change", follow);
  if (prefersDark.matches) setTimeout(follow, 600);
})();
