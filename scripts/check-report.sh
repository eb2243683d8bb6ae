#!/usr/bin/env bash
# Renders a report and its appendix as readers see them: HTML in headless Chromium, 1280 and 390
# pixels wide, light and dark; TeX with xelatex. The results are in DIR/check; look at them. The
# script fails if a page is wider than its window. It also fails if xelatex fails, text overflows
# the margins, a character is missing or a reference is undefined. If a program is not installed,
# its part is skipped with a message.
#
#   scripts/check-report.sh DIR
set -euo pipefail

dir="$(cd "${1:?usage: scripts/check-report.sh DIR, the folder of a report}" && pwd)"
check="$dir/check"
margin=10 # points by which a line of the PDF may stick out
mkdir -p "$check"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
failed=0

say() { echo "check-report: $*"; }
fault() {
	say "$*" >&2
	failed=1
}

# browse SCHEME WIDTH HEIGHT ARGUMENT... runs the browser on a window of that size.
browse() {
	local scheme=1 width="$2" height="$3"
	[ "$1" = dark ] && scheme=0
	shift 3
	local root=()
	[ "$(id -u)" = 0 ] && root=(--no-sandbox)
	timeout 120 "$browser" --headless --disable-gpu --hide-scrollbars "${root[@]}" \
		--user-data-dir="$scratch/profile" --allow-file-access-from-files --virtual-time-budget=10000 \
		--blink-settings="preferredColorScheme=$scheme" --window-size="$width,$height" "$@" 2>"$scratch/browser.log"
}

# page NAME WIDTH writes a page with the report in a frame of that width; browsers limit the width of a
# window, but not of a frame. When it has loaded, the page reports the size of the report and the
# elements that are too wide.
page() {
	cat <<-HTML
		<!doctype html><meta charset="utf-8"><style>body{margin:0}iframe{border:0;display:block}</style>
		<iframe id="frame" src="file://$dir/$1.html" width="$2" height="900"></iframe>
		<script>
		onload = () => {
			const doc = document.getElementById("frame").contentDocument.documentElement
			// Text can stick out of an element that does not.
			const texts = document.createTreeWalker(doc.querySelector("body"), NodeFilter.SHOW_TEXT)
			const out = []
			const sticksOut = (box, parent, name) => {
				if (box.right <= $2 + 1) return
				for (let p = parent; p; p = p.parentElement)
					if (getComputedStyle(p).overflowX !== "visible") return
				out.push(name)
			}
			for (const e of doc.querySelectorAll("body *"))
				sticksOut(e.getBoundingClientRect(), e.parentElement, e.tagName.toLowerCase() + (e.id && "#" + e.id))
			for (let text; (text = texts.nextNode()); ) {
				const range = document.createRange()
				range.selectNodeContents(text)
				sticksOut(range.getBoundingClientRect(), text.parentElement, text.data.trim().slice(0, 60))
			}
			document.body.dataset.size = doc.scrollWidth + "x" + doc.scrollHeight + " " + out.slice(0, 5).join(", ")
			document.getElementById("frame").height = doc.scrollHeight
		}
		</script>
	HTML
}

# look NAME looks at NAME.html.
look() {
	local name="$1" width size extent wide height scheme picture
	for width in 1280 390; do
		page "$name" "$width" >"$scratch/page.html"
		size="$(browse light "$width" 900 --dump-dom "file://$scratch/page.html" | sed -n 's/.*data-size="\([^"]*\)".*/\1/p')"
		if [ -z "$size" ]; then
			fault "$name.html does not load: $(tail -n 1 "$scratch/browser.log")"
			continue
		fi
		read -r extent wide <<<"$size"
		if [ "${extent%x*}" -gt "$width" ] || [ -n "$wide" ]; then
			fault "$name.html is ${extent%x*} pixels wide in a window of $width: $wide"
		fi
		# A taller picture than this is more than the browser draws.
		height="${extent#*x}"
		[ "$height" -gt 16000 ] && height=16000
		for scheme in light dark; do
			picture="$check/$name-$width-$scheme.png"
			browse "$scheme" "$width" "$height" --screenshot="$picture" "file://$scratch/page.html"
			[ -s "$picture" ] || fault "no picture of $name.html: $(tail -n 1 "$scratch/browser.log")"
			say "$picture"
		done
	done
}

# compile NAME compiles NAME.tex.
compile() {
	local name="$1"
	cp -R "$dir/$name.tex" "$dir/figures" "$scratch"
	for pass in -no-pdf ""; do # the first is for the references
		# shellcheck disable=SC2086 # no argument if it is empty
		if ! (cd "$scratch" && timeout 180 xelatex $pass -interaction=nonstopmode -halt-on-error "$name.tex" >xelatex.out </dev/null); then
			fault "$name.tex does not compile: $(grep -m 1 -A 2 '^!' "$scratch/xelatex.out" | tr '\n' ' ')"
			break
		fi
	done
	[ -s "$scratch/$name.pdf" ] || return 0
	cp "$scratch/$name.pdf" "$check"
	say "$check/$name.pdf"
	if grep -m 3 -E '^Missing character|Reference .* undefined|Citation .* undefined' "$scratch/$name.log" >&2; then
		fault "$name.tex lacks what is named above"
	fi
	if awk -F '[( p]+' -v most="$margin" '/^Overfull \\hbox/ && $3 > most { print; found = 1 } END { exit !found }' "$scratch/$name.log" >&2; then
		fault "$name.tex sticks out of its margins"
	fi
}

browser="$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)"
for name in report report-appendix; do
	if [ -z "$browser" ]; then
		say "$name.html is not looked at: there is no chromium"
	else
		look "$name"
	fi
	if ! command -v xelatex >/dev/null; then
		say "$name.tex is not compiled: there is no xelatex"
	else
		compile "$name"
	fi
done
exit "$failed"
