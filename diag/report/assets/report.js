/* SPDX-License-Identifier: BSD-3-Clause */
/* Without it all graphs are shown; with it, the chosen one. */
(function () {
	var choose = document.getElementById("choose");
	var graphs = document.querySelectorAll(".graph");

	function show() {
		graphs.forEach(function (graph) {
			graph.hidden = graph.id !== choose.value;
		});
	}

	if (choose) {
		choose.addEventListener("change", show);
		show();
	}
})();
